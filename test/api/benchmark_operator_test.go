package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
)

// TestBenchmarkRuns goes up to the first measured run, with another controller after every Job.
func TestBenchmarkRuns(t *testing.T) {
	t.Parallel()
	s := perform(t, benchmark(t, "runs", map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
		"rounds": "1", "workloads": oneWrite}))
	c := s.cluster("runs-db")
	if c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenDeleted != v1alpha1.ClaimDelete ||
		!metav1.IsControlledBy(c, s.get()) {
		t.Errorf("the private cluster outlives the benchmark: %+v", c.Spec.Storage)
	}
	s.prove("runs-db")
	s.finish(s.job("runs-prepare-1"), prepared)
	s.restart()
	run := s.job("runs-run-001-1")
	for _, env := range run.Spec.Template.Spec.Containers[0].Env {
		if env.Name == "BENCH_PASSWORD" && (env.Value != "" || env.ValueFrom.SecretKeyRef.Name != benchobjects.BindingName(
			benchobjects.AccountName(s.get()))) {
			t.Errorf("the password: %+v", env)
		}
	}
	s.restart()
	s.finish(run, measured("runs-db-0", "oltp"))
	b := s.waitFor("a run that counts", func(b *v1alpha1.GaleraBenchmark) bool {
		return len(b.Status.Results) == 1 && b.Status.Results[0].Samples == 1
	})
	if len(b.Status.DataSets) != 1 || b.Status.DataSets[0].Checksum != "abc" || !slices.Equal(b.Status.ArmNames,
		[]string{"plain", "encrypted"}) {
		t.Errorf("status: %+v", b.Status)
	}
	eventually(t, "the switch to the other arm", func() bool {
		s.collect()
		c := s.cluster("runs-db")
		return s.get().Status.Run != nil && c.Generation > 1
	})
}

// TestBenchmarkTemplateEdited: what was measured on one cluster is not mixed with what another one does.
func TestBenchmarkTemplateEdited(t *testing.T) {
	t.Parallel()
	s := perform(t, benchmark(t, "edited", map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
		"rounds": "1", "workloads": oneWrite}))
	s.prove("edited-db")
	edit := func(config map[string]v1alpha1.Setting) {
		b := s.get()
		seen := client.MergeFrom(b.DeepCopy())
		b.Spec.Cluster.Template.MariaDB.Config = config
		must(t, kube.Patch(context.Background(), b, seen))
	}
	prepare := s.job("edited-prepare-1") // an edit before it would be complained of before it
	edit(map[string]v1alpha1.Setting{"max_connections": {Text: "77", Number: true}})
	s.finish(prepare, prepared)
	s.waitFor("the complaint", func(b *v1alpha1.GaleraBenchmark) bool {
		s.collect()
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonTemplateChanged
	})
	edit(nil)
	s.job("edited-run-001-1")
}

// TestBenchmarkFails: the load generator fails each time; its last lines are in the message, and the cluster goes.
func TestBenchmarkFails(t *testing.T) {
	t.Parallel()
	s := perform(t, benchmark(t, "fails", map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`,
		"rounds": "1", "maxRetries": "1", "workloads": oneWrite}))
	s.prove("fails-db")
	s.finish(s.job("fails-prepare-1"), prepared)
	s.finish(s.job("fails-run-001-1"), failing)
	s.finish(s.job("fails-run-001-2"), failing)
	b := s.waitFor("the end", func(b *v1alpha1.GaleraBenchmark) bool { s.collect(); return b.Status.CompletedAt != nil })
	complete := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
	if complete.Status != "False" || complete.Reason != v1alpha1.ReasonTooManyInvalidRuns ||
		!strings.Contains(complete.Message, "FATAL: mysql_drv_query() returned error 1047") {
		t.Errorf("got %+v", complete)
	}
	if len(b.Status.InvalidRuns) != 2 || !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("got %+v, %+v", b.Status.InvalidRuns, b.Status.Conditions)
	}
	err := kube.Get(context.Background(), client.ObjectKey{Namespace: home(t), Name: "fails-db"},
		&v1alpha1.GaleraCluster{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the private cluster is still there: %v", err)
	}
}

// TestBenchmarkWithoutANameForItsCluster: one of that name has another owner. It is left alone, and the benchmark
// reports it.
func TestBenchmarkWithoutANameForItsCluster(t *testing.T) {
	t.Parallel()
	existingCluster(t, "taken-db")
	s := perform(t, benchmark(t, "taken", map[string]string{"cluster": onePrivate, "workloads": oneWrite}))
	s.waitFor("the complaint", func(b *v1alpha1.GaleraBenchmark) bool {
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Status == metav1.ConditionTrue && strings.Contains(c.Message,
			`GaleraCluster "taken-db" exists and is not this benchmark's`)
	})
	must(t, kube.Delete(context.Background(), s.get()))
	eventually(t, "the end of the benchmark", func() bool { return s.get() == nil })
	if c := s.cluster("taken-db"); c.DeletionTimestamp != nil || len(c.OwnerReferences) != 0 {
		t.Errorf("touched: %+v", c.ObjectMeta)
	}
}

// existingCluster makes a cluster of another owner.
func existingCluster(t *testing.T, name string) *v1alpha1.GaleraCluster {
	t.Helper()
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: home(t), Name: name}}
	c.Spec.Replicas, c.Spec.Storage.Size = 1, oneGi
	must(t, kube.Create(context.Background(), c))
	t.Cleanup(func() { _ = kube.Delete(context.Background(), c) })
	return c
}

// TestBenchmarkOfExistingCluster: it is measured as it is; the benchmark is deleted in the middle of a run while no
// controller is there, and the next one takes away what it had there. The spec stays as it is.
func TestBenchmarkOfExistingCluster(t *testing.T) {
	t.Parallel()
	own := existingCluster(t, "shop").Spec
	s := perform(t, benchmark(t, "guest", map[string]string{"cluster": `{ref: {name: shop}}`, "rounds": "1",
		"workloads": oneWrite}))
	s.prove("shop")
	s.finish(s.job("guest-prepare-1"), prepared)
	s.job("guest-run-001-1")
	if c := s.cluster("shop"); c.Annotations[v1alpha1.AnnotationBenchmark] != "guest" ||
		!equality.Semantic.DeepEqual(c.Spec, own) {
		t.Errorf("not claimed, or another spec: %v, %+v", c.Annotations, c.Spec.TLS)
	}
	s.stop()
	must(t, kube.Delete(context.Background(), s.get()))
	s.begin()
	eventually(t, "the end of the benchmark", func() bool { s.collect(); return s.get() == nil })
	if c := s.cluster("shop"); c.Annotations[v1alpha1.AnnotationBenchmark] != "" || !equality.Semantic.DeepEqual(c.Spec,
		own) {
		t.Errorf("left behind: %v, %+v", c.Annotations, c.Spec.TLS)
	}
}
