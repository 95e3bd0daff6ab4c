package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// renewed is what the runner found of a renewal.
const renewed = `{"kind": "operation", "operation": {"name": "Renewal", "seconds": 3, "transactions": 1000, "before": {"tps": 100, "p95": 4, "gap": 20}, "during": {"tps": 90, "p95": 9, "gap": 300}},
"members": {"operation-db-0": {"before": {"galera_server_start_time_seconds": 1, "galera_view": 1, "galera_synced": 1}, "after": {"galera_server_start_time_seconds": 1, "galera_view": 1, "galera_synced": 1}}}}`

// TestBenchmarkOperation: once the load has run for long enough the operation is asked for, by an annotation with the
// Job's name, and what was found is reported.
func TestBenchmarkOperation(t *testing.T) {
	t.Parallel()
	s := perform(t, benchmark(t, "operation",
		map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`, "rounds": "1",
			"workloads": `[{name: op, operation: {operations: [Renewal], tables: 1, tableSize: 10}}]`}))
	s.prove("operation-db")
	s.finish(s.job("operation-prepare-1"), prepared)
	run := s.job("operation-run-001-1")
	if asked := s.cluster("operation-db").Annotations[v1alpha1.AnnotationRenew]; asked != "" {
		t.Errorf("asked for %s before the load runs", asked)
	}
	s.running(run, time.Minute)
	eventually(t, "the request", func() bool {
		return s.cluster("operation-db").Annotations[v1alpha1.AnnotationRenew] == "leaf@operation-run-001-1"
	})
	if step := s.get().Status.Run.Step; step != "Operation" {
		t.Errorf("the journal contains %s", step)
	}
	s.finish(run, renewed)
	b := s.waitFor("a run that counts", func(b *v1alpha1.GaleraBenchmark) bool {
		return len(b.Status.Results) == 1 && b.Status.Results[0].Samples == 1
	})
	figures := map[string]string{}
	for _, f := range b.Status.Results[0].Figures {
		figures[f.Name] = f.Median
	}
	if figures["longestGapMs"] != "300" || figures["latencyP95BeforeMs"] != "4" || figures["loadLossPercent"] != "10" {
		t.Errorf("figures: %v", figures)
	}
}

// running gives a Job a pod whose container runs since some time.
func (s *stage) running(run *batchv1.Job, since time.Duration) {
	s.Helper()
	cluster := s.benchmark.Name + "-db"
	s.pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name, Labels: map[string]string{
		batchv1.JobNameLabel: run.Name, v1alpha1.LabelCluster: cluster}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bench", Image: "x"}}}}, since)
}

// pod makes a pod that runs since some time.
func (s *stage) pod(pod *corev1.Pod, since time.Duration) {
	s.Helper()
	ctx := context.Background()
	must(s.T, kube.Create(ctx, pod))
	s.Cleanup(func() { _ = kube.Delete(ctx, pod, client.GracePeriodSeconds(0)) })
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(
			time.Now().Add(-since))}}}}
	must(s.T, kube.Status().Update(ctx, pod))
}

// operated lets a benchmark of one operation come to its first run, which runs since a minute.
func operated(t *testing.T, name, replicas, operation string) (*stage, *batchv1.Job) {
	t.Helper()
	s := perform(t, benchmark(t, name, map[string]string{"cluster": `{template: {replicas: ` + replicas +
		`, storage: {size: 1Gi}}}`, "rounds": "1", "arms": `[{name: encrypted}]`,
		"workloads": `[{name: op, operation: {tables: 1, tableSize: 10, ` + operation + `}}]`}))
	s.proveNodes(name + "-db")
	s.finish(s.job(name+"-prepare-1"), prepared)
	run := s.job(name + "-run-001-1")
	s.running(run, time.Minute)
	return s, run
}

// proveNodes proves a cluster of several nodes.
func (s *stage) proveNodes(name string) {
	s.Helper()
	s.prove(name)
	c := s.cluster(name)
	for i := int32(1); i < c.Spec.Replicas; i++ {
		m := *c.Status.Members[0].DeepCopy()
		m.Name = fmt.Sprintf("%s-%d", name, i)
		c.Status.Members = append(c.Status.Members, m)
	}
	must(s.T, kube.Status().Update(context.Background(), c))
}

// TestBenchmarkBackup: a backup needs its store, is made once the load has run, counts when it is complete, and goes
// with the run.
func TestBenchmarkBackup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	missing := perform(t, benchmark(t, "stores-nothing",
		map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
			"workloads": `[{name: op, operation: {operations: [Backup], storeRef: {name: nowhere}}}]`}))
	missing.waitFor("a refusal", func(b *v1alpha1.GaleraBenchmark) bool {
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Status == metav1.ConditionTrue && strings.Contains(c.Message,
			`needs the GaleraBackupStore "nowhere", which does not exist`)
	})

	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: "offsite-of-benchmarks"},
		Spec: v1alpha1.GaleraBackupStoreSpec{
			S3: &v1alpha1.S3Store{Bucket: "backups"},
			Encryption: v1alpha1.BackupEncryption{Recipients: []string{
				"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}}}}
	must(t, kube.Create(ctx, store))
	t.Cleanup(func() { _ = kube.Delete(ctx, store) })
	meta.SetStatusCondition(&store.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue, Reason: "Reachable", ObservedGeneration: store.Generation})
	must(t, kube.Status().Update(ctx, store))

	s, run := operated(t, "saves", "1", "operations: [Backup], storeRef: {name: offsite-of-benchmarks}")
	made := &v1alpha1.GaleraBackup{}
	key := client.ObjectKey{Namespace: run.Namespace, Name: run.Name}
	eventually(t, "the backup", func() bool { return kube.Get(ctx, key, made) == nil })
	if made.Spec.ClusterRef.Name != "saves-db" || made.Spec.StoreRef.Name != store.Name ||
		made.Spec.DeletionPolicy != v1alpha1.BackupDelete || !metav1.IsControlledBy(made, s.get()) {
		t.Errorf("made %+v", made)
	}
	made.Status.Phase = v1alpha1.BackupCompleted
	must(t, kube.Status().Update(ctx, made))
	s.finish(run, strings.ReplaceAll(strings.ReplaceAll(renewed, "Renewal", "Backup"), "operation-db", "saves-db"))
	s.waitFor("a run that counts", func(b *v1alpha1.GaleraBenchmark) bool {
		return len(b.Status.Results) == 1 && b.Status.Results[0].Samples == 1
	})
	eventually(t, "the end of the backup", func() bool {
		s.collect()
		return apierrors.IsNotFound(
			kube.Get(ctx, key, made))
	})
}

// TestBenchmarkSwitch: the spec of the private cluster is turned the other way, and back when that is proved, also by a
// controller that begins in between.
func TestBenchmarkSwitch(t *testing.T) {
	t.Parallel()
	s, _ := operated(t, "switches", "3", "operations: [Switch]")
	replication := func(want v1alpha1.ReplicationTLS) func() bool {
		return func() bool { return s.cluster("switches-db").Spec.TLS.Replication == want }
	}
	eventually(t, "the switch", replication(v1alpha1.TLSDisabled))
	s.restart()
	s.proveNodes("switches-db")
	eventually(t, "the way back", replication(v1alpha1.TLSRequired))
	s.waitFor("its step", func(b *v1alpha1.GaleraBenchmark) bool {
		return b.Status.Run != nil && b.Status.Run.Step == "SwitchBack"
	})
	if got := s.cluster("switches-db").Spec.TLS.SwitchStrategy; got != v1alpha1.SwitchRolling {
		t.Errorf("switched by %s", got)
	}
}

// TestBenchmarkJoins: a node that is to join by IST keeps its volume.
func TestBenchmarkJoins(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, keeps := range map[string]bool{"JoinIST": true, "JoinSST": false} {
		s := perform(t, benchmark(t, strings.ToLower(name),
			map[string]string{"cluster": `{template: {replicas: 3, storage: {size: 1Gi}}}`, "rounds": "1",
				"arms":      `[{name: encrypted}]`,
				"workloads": `[{name: op, operation: {tables: 1, tableSize: 10, operations: [` + name + `]}}]`}))
		cluster := s.benchmark.Name + "-db"
		s.proveNodes(cluster)
		at := metav1.ObjectMeta{Namespace: s.benchmark.Namespace, Name: cluster + "-2",
			Labels: map[string]string{v1alpha1.LabelCluster: cluster}}
		s.pod(&corev1.Pod{ObjectMeta: at, Spec: corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "mariadb", Image: "x"}}}}, 0)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace,
			Name: resources.ClaimName(s.cluster(cluster), 2)}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: oneGi}}}}
		must(t, kube.Create(ctx, claim))
		t.Cleanup(func() { claim.Finalizers = nil; _ = kube.Delete(ctx, claim) })
		s.finish(s.job(s.benchmark.Name+"-prepare-1"), prepared)
		s.running(s.job(s.benchmark.Name+"-run-001-1"), 0)
		s.ahead = 25 * time.Second // the load has run for long enough, and a node is still to be away
		s.restart()
		eventually(t, name+": the end of the pod", func() bool {
			p := &corev1.Pod{}
			err := kube.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: at.Name}, p)
			return apierrors.IsNotFound(err) || err == nil && p.DeletionTimestamp != nil
		})
		have := &corev1.PersistentVolumeClaim{}
		err := kube.Get(ctx, client.ObjectKeyFromObject(claim), have)
		if kept := err == nil && have.DeletionTimestamp == nil; kept != keeps {
			t.Errorf("%s: the volume was kept: %t (%v)", name, kept, err)
		}
	}
}
