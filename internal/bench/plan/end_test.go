package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
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

func restored(a Action) bool { _, is := a.(EndOverride); return is }

// TestEndWithoutItsCluster: a failed benchmark of a cluster that stays unwell ends, and describes what it left there.
func TestEndWithoutItsCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		trouble func(*world)
		early   time.Duration
		late    time.Duration
	}{
		"stalled":    {func(w *world) { w.stall(v1alpha1.ReasonMemberFailed) }, 19 * time.Minute, 21 * time.Minute},
		"never well": {func(w *world) { w.Cluster.Status.Conditions = nil }, 119 * time.Minute, 121 * time.Minute},
	} {
		w := existing(true)
		w.Cluster.Name = "shop"
		for _, run := range []string{"x-run-001-1", "x-run-001-2", "x-run-001-3"} {
			w.spoil[run] = "always"
		}
		w.until(t, restored)
		if w.Cluster.Spec.TLS.Replication != "Required" {
			t.Errorf("%s: the policy is not put back first: %+v", name, w.Cluster.Spec.TLS)
		}
		tc.trouble(w)
		begun := w.Now
		w.Now = begun.Add(tc.early)
		if d := w.step(); d.Action != nil || d.Reason != v1alpha1.ReasonCleaningUp || d.Again == 0 {
			t.Errorf("%s: no patience: %+v", name, d)
		}
		w.Now = begun.Add(tc.late)
		var d Decision
		for w.Benchmark.Status.CompletedAt == nil {
			if d = w.step(); d.Action == nil {
				t.Fatalf("%s: it never ends: %+v", name, d)
			}
		}
		if !d.Failed || d.Reason != v1alpha1.ReasonTooManyInvalidRuns || !strings.Contains(d.Message,
			"did not count 3 times") {
			t.Errorf("%s: %+v", name, d)
		}
		if !strings.HasSuffix(d.Message,
			"; left behind: the test data, which could not be removed; on the cluster shop run: DROP DATABASE bench_1x10") {
			t.Errorf("%s: %s", name, d.Message)
		}
		if len(w.Cluster.Annotations) != 0 {
			t.Errorf("%s: still marked", name)
		}
	}
}

// TestEndHasThePolicyAgain: without any data, too, the end comes when the cluster is what it was.
func TestEndHasThePolicyAgain(t *testing.T) {
	w := existing(true)
	connects(w)
	w.until(t, restored)
	w.Cluster.Status.Operation = &v1alpha1.OperationStatus{Type: "Switch"}
	if d := w.step(); d.Action != nil || !strings.Contains(d.Message, "its own policy again") {
		t.Errorf("over before the cluster is as it was: %+v", d)
	}
	w.Cluster.Status.Operation = nil
	if got := w.run(t); !strings.HasSuffix(got, "restore, finish Measured") {
		t.Errorf("got %s", got)
	}
}

// TestEndOfAClusterThatWasNotSwitched is not waited for.
func TestEndOfAClusterThatWasNotSwitched(t *testing.T) {
	w := existing(true)
	connects(w)
	w.Benchmark.Spec.Arms = []v1alpha1.BenchmarkArm{{Name: "own"}}
	w.until(t, func(a Action) bool { _, is := a.(Judge); return is && len(w.Judged) == 2 })
	w.Cluster.Status.Conditions = nil
	if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
		t.Errorf("got %s", got)
	}
	w = existing(false)
	connects(w)
	w.Cluster.Status.Conditions, w.Cluster.Annotations = nil, map[string]string{v1alpha1.AnnotationBenchmark: "x"}
	if got := w.run(t); got != "finish PolicyChangeRefused" {
		t.Errorf("got %s", got)
	}
}

// TestEndWhenThePrivateClusterIsGone: not while it is being deleted, and not never.
func TestEndWhenThePrivateClusterIsGone(t *testing.T) {
	ending := func() *world {
		w := newWorld(nil)
		w.until(t, func(a Action) bool { _, is := a.(RemoveCluster); return is })
		w.Going = true
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
	w := existing(true)
	w.until(t, func(a Action) bool { _, is := a.(StartJob); return is })
	w.Job, w.Benchmark.DeletionTimestamp = nil, &metav1.Time{Time: w.Now}
	w.until(t, restored)
	w.stall(v1alpha1.ReasonMemberFailed)
	w.Now = w.Now.Add(9 * time.Minute)
	if d := w.step(); d.Action != nil {
		t.Errorf("no patience: %+v", d)
	}
	w.Now = w.Now.Add(2 * time.Minute)
	if got := w.run(t); !strings.HasSuffix(got, "restore, finish CleaningUp") {
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
		"its policy is not back": {func(w *world) { w.Benchmark.Status.Override = &v1alpha1.BenchmarkTLS{} }, false},
		"still marked": {func(
			w *world) {
			w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: "x"}
		}, false},
		"marked by the next one": {func(
			w *world) {
			w.Cluster.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: "y"}
		}, true},
		"its data could not go":     {func(w *world) { w.Judged["x-cleanup-1"] = false }, false},
		"and it is not tried again": {func(w *world) { w.failedCleanups() }, true},
		"its cluster is gone": {func(w *world) {
			w.Cluster, w.Benchmark.Status.Override = nil,
				&v1alpha1.BenchmarkTLS{}
		}, true},
		"not over":                  {func(w *world) { w.Benchmark.Status.CompletedAt = nil }, false},
		"nothing was ever measured": {func(w *world) { w.Records, w.Judged = nil, map[string]bool{} }, true},
	} {
		w := existing(true)
		if got := w.run(t); !strings.HasSuffix(got, "finish Measured") {
			t.Fatalf("got %s", got)
		}
		tc.change(w)
		if got := NothingLeft(w.State); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// failedCleanups are as many as are made.
func (w *world) failedCleanups() {
	for n := range maxCleanups {
		r := result.Record{Run: result.Run{Kind: result.KindCleanup, Attempt: n + 1}}
		w.Judged[Name("x", r.Run)] = true
		w.Records = append(w.Records, r)
	}
	for i := range w.Records {
		if w.Records[i].Kind == result.KindCleanup {
			w.Records[i].Valid = false
		}
	}
}
