package experiment

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
		s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "op",
			Operation: &v1alpha1.OperationWorkload{Operations: []string{name}, Tables: 1, TableSize: 10, Threads: 4}}}
	})
	for w.Job == nil || w.Job.Name != "x-run-001-1" {
		w.step()
	}
	w.Job.Finished, w.Job.Operation = false, &result.Operation{Name: name, Node: Victim(w.Cluster)}
	return w
}

// TestOperationsAreAskedFor: once the load has run, once for each attempt, and always for the node that the Job
// watches.
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

// due is a world in which it is time for an operation.
func due(t *testing.T, name string) *world {
	t.Helper()
	w := disturbed(t, name)
	w.Job.RunningSince = w.Now
	w.Now = w.Now.Add(OperationBaseSeconds * time.Second)
	return w
}

// TestNodesTakenAway: a node's data once for all, its pod for a while.
func TestNodesTakenAway(t *testing.T) {
	w := due(t, "JoinSST")
	if d := Next(w.State); d.Action != (TakePod{"x-db-2", w.Job.RunningSince, true}) || d.Run.Step != StepOperation {
		t.Errorf("a copy: %+v", d)
	}
	w = due(t, "JoinIST")
	want := TakePod{"x-db-2", w.Now.Add(awayTime), false}
	for _, waited := range []time.Duration{0, awayTime - time.Second} {
		w.Now = want.Until.Add(waited - awayTime)
		if d := Next(w.State); d.Action != want {
			t.Errorf("after %s: %+v", waited, d)
		}
	}
	w.Now = want.Until
	if d := Next(w.State); d.Action != nil {
		t.Errorf("it may come back: %+v", d)
	}
}

// TestSwitchedThereAndBack: back once it is proved, and by anyone who comes after a process that was killed in between.
func TestSwitchedThereAndBack(t *testing.T) {
	w := due(t, "Switch")
	w.Benchmark.Spec.Cluster.Template.TLS.SwitchStrategy = v1alpha1.SwitchRolling
	arm := w.Cluster.Spec.TLS
	run := Runs(&w.Benchmark.Spec)[w.Benchmark.Status.Run.Index-1]
	there, back := Switched(*w.Benchmark.Spec.Cluster.Template, run, true), Switched(*w.Benchmark.Spec.Cluster.Template,
		run, false)
	if !SamePolicy(back.TLS, arm) || SamePolicy(there.TLS, arm) || there.TLS.SwitchStrategy != v1alpha1.SwitchRolling {
		t.Fatalf("of %+v there %+v and back %+v", arm, there.TLS, back.TLS)
	}
	asked := func(when string, other bool, step string) {
		t.Helper()
		for range 2 { // a process that forgets decides the same
			d := Next(w.State)
			if got, is := d.Action.(SwitchReplication); !is || got.Other != other || d.Run.Step != step {
				t.Fatalf("%s: %+v", when, d)
			}
			w.Benchmark.Status.Run = d.Run
		}
	}
	waits := func(when string) {
		t.Helper()
		if d := Next(w.State); d.Action != nil {
			t.Fatalf("%s: %+v", when, d)
		}
	}
	asked("at first", true, StepOperation)
	w.Cluster.Spec.TLS = there.TLS
	waits("not proved")
	w.observed()
	asked("proved", false, StepSwitchBack)
	w.Cluster.Spec.TLS = back.TLS
	waits("asked for the way back")
	w.observed()
	waits("back")
}

// TestBackups: one for each attempt, which counts when it is complete, and is not waited for once it has failed.
func TestBackups(t *testing.T) {
	w := due(t, "Backup")
	w.Job.Operation.Store = "offsite"
	if d := Next(w.State); d.Action != (MakeBackup{"x-run-001-1", "offsite"}) {
		t.Errorf("%+v", d)
	}
	w.Backup = &v1alpha1.GaleraBackup{}
	w.Backup.Status.Phase = v1alpha1.BackupRunning
	if d := Next(w.State); d.Action != nil {
		t.Errorf("a second one: %+v", d)
	}
	r := result.Record{Run: result.Run{Kind: result.KindOperation},
		Output: &result.Output{EndedAt: w.Now, Operation: &result.OperationFacts{Name: "Backup"}}}
	for phase, want := range map[string]struct{ waits, counts bool }{
		v1alpha1.BackupRunning: {true, false}, v1alpha1.BackupCompleted: {false, true}, v1alpha1.BackupFailed: {false, false},
	} {
		w.Backup.Status.Phase = phase
		if waits := unproved(w.State, r) != ""; waits != want.waits {
			t.Errorf("%s: waited for: %t", phase, waits)
		}
		if counts := BackupProblem(w.Backup) == ""; counts != want.counts {
			t.Errorf("%s: counts: %t", phase, counts)
		}
	}
	w.Backup.Status.Phase = v1alpha1.BackupFailed
	if why, over := w.over(); !over || why == "" {
		t.Errorf("the Job goes on alongside a backup that failed: %q", why)
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
	if len(got) != 2 || got[1].Operation != "Promotion" || got[1].Variant != "operation=Promotion" ||
		got[1].Threads != 4 || DataSet(got[1]).Database != "bench_1x10" {
		t.Errorf("got %+v", got)
	}
}
