package api

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// renewed is what the runner found of a renewal.
const renewed = `{"kind": "operation", "operation": {"name": "Renewal", "seconds": 3, "transactions": 1000, "before": {"tps": 100, "p95": 4, "gap": 20}, "during": {"tps": 90, "p95": 9, "gap": 300}},
"members": {"operation-db-0": {"before": {"galera_server_start_time_seconds": 1, "galera_view": 1, "galera_synced": 1}, "after": {"galera_server_start_time_seconds": 1, "galera_view": 1, "galera_synced": 1}}}}`

// TestBenchmarkOperation: once the load has run for long enough the operation is asked for, by an annotation with the Job's name, and what
// was found is told.
func TestBenchmarkOperation(t *testing.T) {
	ctx := context.Background()
	s := perform(t, benchmark(t, "operation", map[string]string{"cluster": `{template: {replicas: 1, storage: {size: 1Gi}}}`, "rounds": "1",
		"workloads": `[{name: op, operation: {operations: [Renewal], tables: 1, tableSize: 10}}]`}))
	s.prove("operation-db")
	s.finish(s.job("operation-prepare-1"), prepared)
	run := s.job("operation-run-001-1")
	if asked := s.cluster("operation-db").Annotations[v1alpha1.AnnotationRenew]; asked != "" {
		t.Errorf("asked for %s before the load runs", asked)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name, Labels: map[string]string{
		batchv1.JobNameLabel: run.Name, v1alpha1.LabelCluster: "operation-db"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "bench", Image: "x"}}}}
	must(t, kube.Create(ctx, pod))
	t.Cleanup(func() { _ = kube.Delete(ctx, pod, client.GracePeriodSeconds(0)) })
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "bench", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Minute))}}}}
	must(t, kube.Status().Update(ctx, pod))
	eventually(t, "the request", func() bool {
		return s.cluster("operation-db").Annotations[v1alpha1.AnnotationRenew] == "leaf@operation-run-001-1"
	})
	if step := s.get().Status.Run.Step; step != "Operation" {
		t.Errorf("the journal says %s", step)
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
