package experiment

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// connects measures nothing that leaves data.
func connects(w *world) {
	w.Benchmark.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "c", Connect: &v1alpha1.ConnectWorkload{
		Threads: []int32{1}, TLSVersions: []string{"1.3"}, SessionResumption: []string{"Off"}, Latency: []string{"0s"}}}}
}

// until goes on until an action is carried out.
func (w *world) until(t *testing.T, is func(Action) bool) {
	t.Helper()
	for range 200 {
		if is(w.step().Action) {
			return
		}
	}
	t.Fatalf("it never happened: %v", w.acts)
}

func drops(a Action) bool { return a == (DropAccounts{}) }

// TestAccountsAreDroppedAtTheEnd: after everything that needs them, and before the cluster is let go of.
func TestAccountsAreDroppedAtTheEnd(t *testing.T) {
	w := existing()
	w.undroppable = "Dropping: the cluster takes no changes"
	w.until(t, drops)
	if w.Job != nil || !claimed(w.State) {
		t.Errorf("got %v", w.acts)
	}
	if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonCleaningUp || d.Again == 0 ||
		!strings.Contains(d.Message, "GaleraUser bench-x: Dropping: the cluster takes no changes") {
		t.Errorf("it does not wait, or not for that: %+v", d)
	}
	w.Accounts = nil
	if got := w.run(t); !strings.HasSuffix(got, "drop, finish Measured") || w.Cluster.Annotations != nil {
		t.Errorf("got %s", got)
	}
}

// TestEndWithoutItsCluster: a benchmark of a cluster that takes no changes ends, and describes what it left there.
func TestEndWithoutItsCluster(t *testing.T) {
	w := existing()
	w.undroppable = "Dropping: the cluster takes no changes"
	w.until(t, drops)
	begun := w.Now
	w.Now = begun.Add(19 * time.Minute)
	if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonCleaningUp {
		t.Errorf("no patience: %+v", d)
	}
	w.Now = begun.Add(21 * time.Minute)
	var d Decision
	for w.Benchmark.Status.CompletedAt == nil {
		if d = w.step(); d.Action == nil {
			t.Fatalf("it never ends: %+v", d)
		}
	}
	if !strings.HasSuffix(d.Message, "left behind: these objects, which are dropped as soon as the cluster takes changes "+
		"again: GaleraUser bench-x: Dropping: the cluster takes no changes") {
		t.Errorf("got %s", d.Message)
	}
	if len(w.Cluster.Annotations) != 0 {
		t.Error("still marked")
	}
}

// TestEndOfAClusterThatIsUnwell: without accounts there is nothing to wait for.
func TestEndOfAClusterThatIsUnwell(t *testing.T) {
	w := existing()
	connects(w)
	w.until(t, func(a Action) bool { _, is := a.(Judge); return is && len(w.Judged) == 2 })
	w.Cluster.Status.Conditions = nil
	if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
		t.Errorf("got %s", got)
	}
}

// TestEndWhenThePrivateClusterIsGone: not while it is being deleted, and not never.
func TestEndWhenThePrivateClusterIsGone(t *testing.T) {
	ending := func() *world {
		w := newWorld(nil)
		w.until(t, func(a Action) bool { _, is := a.(RemoveCluster); return is })
		w.Going = true
		w.until(t, drops)
		if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonCleaningUp || d.Again == 0 {
			t.Errorf("over before it is gone: %+v", d)
		}
		return w
	}
	w := ending()
	w.Going = false
	if d := w.step(); d.Action != (Finish{}) || d.Stalled {
		t.Errorf("got %+v", d)
	}
	w = ending()
	w.Now = w.Now.Add(21 * time.Minute)
	if d := w.step(); d.Action != (Finish{}) || d.Failed || d.Stalled || !strings.Contains(d.Message,
		"everything was measured; left behind: the private cluster") {
		t.Errorf("got %+v", d)
	}
}

// TestDeletionIsQuicker: who deletes a benchmark waits ten minutes at most.
func TestDeletionIsQuicker(t *testing.T) {
	w := existing()
	w.undroppable = "Dropping: the cluster takes no changes"
	w.until(t, func(a Action) bool { _, is := a.(StartJob); return is })
	w.Job, w.Benchmark.DeletionTimestamp = nil, &metav1.Time{Time: w.Now}
	w.until(t, drops)
	w.Now = w.Now.Add(9 * time.Minute)
	if d := w.step(); d.Action != nil {
		t.Errorf("no patience: %+v", d)
	}
	w.Now = w.Now.Add(2 * time.Minute)
	if got := w.run(t); !strings.HasSuffix(got, "drop, finish CleaningUp") {
		t.Errorf("got %s", got)
	}
}

// TestNothingIsLeft: only then may a benchmark be deleted without its operator.
func TestNothingIsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		want   bool
	}{
		"measured":               {func(*world) {}, true},
		"still marked":           {func(w *world) { w.mark("x") }, false},
		"marked by the next one": {func(w *world) { w.mark("y") }, true},
		"its cluster is gone":    {func(w *world) { w.Cluster = nil }, true},
		"not over":               {func(w *world) { w.Benchmark.Status.CompletedAt = nil }, false},
	} {
		w := existing()
		if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
			t.Fatalf("got %s", got)
		}
		tc.change(w)
		if got := NothingLeft(w.State); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func (w *world) mark(by string) {
	w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: by}
}
