package api

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const onePrivate = `{template: {replicas: 1, storage: {size: 1Gi}}}`

// refusedClients end a benchmark at once: the cluster accepts TLS 1.3 only.
const refusedClients = `[{name: a, connect: {tlsVersions: ["1.2"]}}]`

func completed(b *v1alpha1.GaleraBenchmark) bool { return b.Status.CompletedAt != nil }

// TestBenchmarkExpires with its results, and with what holds it.
func TestBenchmarkExpires(t *testing.T) {
	t.Parallel()
	existingCluster(t, "lasting")
	s := perform(t, benchmark(t, "expires", map[string]string{"cluster": `{ref: {name: lasting}}`,
		"ttlAfterFinished": `2s`,
		"workloads":        refusedClients}))
	b := s.waitFor("the end", completed)
	if left := metav1.Now().Sub(b.Status.CompletedAt.Time).Seconds(); left > 1.9 {
		t.Errorf("the end was seen after %.1f s", left)
	}
	eventually(t, "that it disappears", func() bool { return s.get() == nil })
	if c := s.cluster("lasting"); c.Annotations[v1alpha1.AnnotationBenchmark] != "" {
		t.Errorf("left behind: %v", c.Annotations)
	}
}

// TestBenchmarkKeepsNoAccounts: users, with their passwords and keys, and databases end with the measurement.
func TestBenchmarkKeepsNoAccounts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := perform(t, benchmark(t, "keyless", map[string]string{"cluster": onePrivate, "rounds": "1", "maxRetries": "0",
		"workloads": oneWrite}))
	s.prove("keyless-db")
	s.finish(s.job("keyless-prepare-1"), prepared)
	var users v1alpha1.GaleraUserList
	must(t, kube.List(ctx, &users, client.InNamespace(home(t))))
	if len(users.Items) != 2 {
		t.Errorf("%d users", len(users.Items))
	}
	s.finish(s.job("keyless-run-001-1"), failing)
	s.waitFor("the end", func(b *v1alpha1.GaleraBenchmark) bool { s.collect(); return completed(b) })
	var databases v1alpha1.GaleraDatabaseList
	must(t, kube.List(ctx, &users, client.InNamespace(home(t))))
	must(t, kube.List(ctx, &databases, client.InNamespace(home(t))))
	if len(users.Items) != 0 || len(databases.Items) != 0 {
		t.Errorf("left: %v, %v", users.Items, databases.Items)
	}
}

// TestBenchmarkWaitsForItsCluster to be gone before it reports that everything is cleaned up.
func TestBenchmarkWaitsForItsCluster(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := perform(t, benchmark(t, "tidy", map[string]string{"cluster": onePrivate, "rounds": "1", "maxRetries": "0",
		"workloads": oneWrite}))
	c := s.cluster("tidy-db")
	controllerutil.AddFinalizer(c, "test/held")
	must(t, kube.Update(ctx, c))
	s.prove("tidy-db")
	s.finish(s.job("tidy-prepare-1"), prepared)
	s.finish(s.job("tidy-run-001-1"), failing)
	b := s.waitFor("the cluster's end", func(b *v1alpha1.GaleraBenchmark) bool {
		s.collect()
		r := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
		return completed(b) || r != nil && strings.Contains(r.Message, "until the private cluster is gone")
	})
	if completed(b) || b.Status.EndingSince == nil {
		t.Errorf("over before its cluster is gone: %+v", b.Status)
	}
	c = s.cluster("tidy-db")
	c.Finalizers = nil
	must(t, kube.Update(ctx, c))
	s.waitFor("the end", completed)
}

// TestUnschedulableBenchmarkIsReported reports it at once, and in the end the attempt is over.
func TestUnschedulableBenchmarkIsReported(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := perform(t, benchmark(t, "nowhere", map[string]string{"cluster": onePrivate, "rounds": "1",
		"workloads": `[{name: a, connect: {}}]`, "client": `{nodeSelector: {no: such}}`}))
	s.prove("nowhere-db")
	job := s.job("nowhere-run-001-1")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: "nowhere-pod",
		Labels: job.Spec.Template.Labels}, Spec: job.Spec.Template.Spec}
	p.Labels[batchv1.JobNameLabel] = job.Name
	p.Spec.ServiceAccountName = ""
	must(t, kube.Create(ctx, p))
	t.Cleanup(func() { _ = kube.Delete(ctx, p, client.GracePeriodSeconds(0)) })
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason:  "Unschedulable",
		Message: "0/3 nodes are available", LastTransitionTime: metav1.NewTime(metav1.Now().Add(-time.Hour))}}
	must(t, kube.Status().Update(ctx, p))
	s.job("nowhere-run-001-2")
	b := s.waitFor("the reason", func(b *v1alpha1.GaleraBenchmark) bool { return len(b.Status.InvalidRuns) == 1 })
	if reason := b.Status.InvalidRuns[0].Reason; reason != "the Job left no result: Unschedulable: 0/3 nodes are "+
		"available" {
		t.Errorf("got %q", reason)
	}
}

// TestBenchmarkReportsItsEnvironment: the storage class the volumes have got, where the cluster names none, and the
// hosts and images of the pods, as they were when the run was judged.
func TestBenchmarkReportsItsEnvironment(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := perform(t, benchmark(t, "classy", map[string]string{"cluster": onePrivate, "rounds": "1",
		"workloads": `[{name: a, connect: {}}]`}))
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: "data-classy-db-0"}}
	claim.Spec = corev1.PersistentVolumeClaimSpec{StorageClassName: new("quick"),
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: oneGi}}}
	must(t, kube.Create(ctx, claim))
	t.Cleanup(func() { _ = kube.Delete(ctx, claim) })
	s.prove("classy-db")
	job := s.job("classy-run-001-1")
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: "classy-pod",
		Labels: job.Spec.Template.Labels}, Spec: job.Spec.Template.Spec}
	p.Labels[batchv1.JobNameLabel] = job.Name
	p.Spec.ServiceAccountName, p.Spec.NodeName = "", "w1"
	must(t, kube.Create(ctx, p))
	t.Cleanup(func() { _ = kube.Delete(ctx, p, client.GracePeriodSeconds(0)) })
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "runner", ImageID: "sha256:1"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "bench", ImageID: "sha256:2"}}
	must(t, kube.Status().Update(ctx, p))
	s.finish(job, strings.Replace(measured("classy-db-0", "connect"), `"oltp": {"tps": 100, "transactions": 1000}`,
		`"connect": {"connections": 10}`, 1))
	b := s.waitFor("a verdict", func(b *v1alpha1.GaleraBenchmark) bool {
		return b.Status.Environment != nil || len(b.Status.InvalidRuns) > 0
	})
	e := b.Status.Environment
	if e == nil || e.StorageClass != "quick" {
		t.Fatalf("got %+v, %+v", e, b.Status.InvalidRuns)
	}
	if len(e.Hosts) != 1 || e.Hosts[0].Name != "w1" || !slices.Equal(e.ClientImages, []string{"sysbench (sha256:2)"}) ||
		len(e.OperatorImages) != 1 || !strings.HasSuffix(e.OperatorImages[0], " (sha256:1)") {
		t.Errorf("got %+v", e)
	}
}

// TestBenchmarkGoesWithoutItsOperator: what has ended, and left nothing behind, holds no namespace when the operator is
// gone.
func TestBenchmarkGoesWithoutItsOperator(t *testing.T) {
	t.Parallel()
	existingCluster(t, "operated")
	s := perform(t, benchmark(t, "free", map[string]string{"cluster": `{ref: {name: operated}}`,
		"workloads": refusedClients}))
	s.waitFor("the end", func(b *v1alpha1.GaleraBenchmark) bool { return completed(b) && len(b.Finalizers) == 0 })
	s.stop()
	must(t, kube.Delete(context.Background(), s.get()))
	eventually(t, "that it disappears", func() bool { return s.get() == nil })
}
