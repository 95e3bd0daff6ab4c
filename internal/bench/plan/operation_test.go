package plan

import (
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// disturbed is a world in which a run of an operation has just begun.
func disturbed(t *testing.T, name string) *world {
	t.Helper()
	w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
		s.Cluster.Template.Replicas = 3
		s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "op", Operation: &v1alpha1.OperationWorkload{Operations: []string{name}, Tables: 1, TableSize: 10, Threads: 4}}}
	})
	for w.Job == nil || w.Job.Name != "x-run-001-1" {
		w.step()
	}
	w.Job.Finished, w.Job.Operation = false, &result.Operation{Name: name, Node: Victim(w.Cluster)}
	return w
}

// TestOperationsAreAskedFor: once the load has run, once for each attempt, and always for the node that the Job watches.
func TestOperationsAreAskedFor(t *testing.T) {
	for name, want := range map[string]Request{
		"Renewal":   {v1alpha1.AnnotationRenew, "leaf@x-run-001-1"},
		"Restart":   {v1alpha1.AnnotationRestart, "x-db-2@x-run-001-1"},
		"Promotion": {v1alpha1.AnnotationPrimary, "x-db-2@x-run-001-1"},
	} {
		w := disturbed(t, name)
		if d := w.step(); d.Action != nil {
			t.Errorf("%s: before the runner runs: %+v", name, d)
		}
		w.Job.RunningSince = w.Now
		if d := w.step(); d.Action != nil || d.Again != OperationBaseSeconds*time.Second {
			t.Errorf("%s: before the load is known: %+v", name, d)
		}
		w.Now = w.Now.Add(OperationBaseSeconds * time.Second)
		w.Cluster.Status.Primary = "x-db-2"
		if d := Next(w.State); d.Action != want || d.Run.Step != StepOperation {
			t.Errorf("%s: %+v", name, d)
		}
		w.Cluster.Annotations = map[string]string{want.Annotation: want.Value}
		if d := Next(w.State); d.Action != nil {
			t.Errorf("%s: asked again: %+v", name, d)
		}
	}
}

// TestProvedAgainAfterAnOperation: a node that was restarted has yet to be observed.
func TestProvedAgainAfterAnOperation(t *testing.T) {
	w := disturbed(t, "Restart")
	w.Cluster.Status.Members = nil
	r := result.Record{Run: result.Run{Kind: result.KindOperation}, Output: &result.Output{EndedAt: w.Now}}
	if unproved(w.State, r) == "" {
		t.Error("it is not waited for")
	}
	if r.Kind = result.KindOLTP; unproved(w.State, r) != "" {
		t.Error("other runs change nothing")
	}
}

func TestOperationCells(t *testing.T) {
	w := disturbed(t, "Restart")
	w.Benchmark.Spec.Workloads[0].Operation.Operations = []string{"Renewal", "Promotion"}
	got := Cells(&w.Benchmark.Spec)
	if len(got) != 2 || got[1].Operation != "Promotion" || got[1].Variant != "operation=Promotion" || got[1].Threads != 4 || DataSet(got[1]).Database != "bench_1x10" {
		t.Errorf("got %+v", got)
	}
}
