package plan

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// atTheEnd is a benchmark of an existing cluster whose next action is to drop its account.
func atTheEnd(t *testing.T) *world {
	t.Helper()
	w := existing(true)
	w.Cluster.Name = "shop"
	w.Benchmark.Status.Resources = &v1alpha1.BenchmarkResources{Suffix: "abcdefghij", Account: true}
	w.until(t, func(a Action) bool { _, is := a.(DropAccount); return is })
	return w
}

// TestTheAccountIsDroppedAtTheEnd: after everything that needs it, and before the cluster is let go of.
func TestTheAccountIsDroppedAtTheEnd(t *testing.T) {
	w := atTheEnd(t)
	if w.acts[len(w.acts)-1] != "start x-cleanup-1" || w.Job != nil || !claimed(w.State) {
		t.Errorf("got %v", w.acts)
	}
	for range 3 { // until that is written down
		if d := w.step(); d.Action != (DropAccount{}) {
			t.Errorf("got %+v", d)
		}
	}
	if NothingLeft(w.State) {
		t.Error("an account is something")
	}
	w.Benchmark.Status.Resources.Account = false
	if got := w.run(t); !strings.HasSuffix(got, "finish Measured") || w.Cluster.Annotations != nil {
		t.Errorf("got %s", got)
	}
}

// TestAnAccountThatCannotBeDropped is reported at the end, and tried again at the deletion.
func TestAnAccountThatCannotBeDropped(t *testing.T) {
	w := atTheEnd(t)
	w.Now = w.Now.Add(3 * time.Hour)
	var d Decision
	for w.Benchmark.Status.CompletedAt == nil {
		if d = w.step(); d.Action == (DropAccount{}) || d.Action == nil {
			t.Fatalf("it never ends: %+v", d)
		}
	}
	if want := "; left behind: the benchmark's account, which could not be dropped; on the cluster shop run: DROP USER " +
		"bench_abcdefghij"; !strings.HasSuffix(d.Message, want) {
		t.Errorf("got %s", d.Message)
	}
	if NothingLeft(w.State) {
		t.Error("the deletion would drop it")
	}
}

// TestLeftDataAreNamedAsTheyAre in the database.
func TestLeftDataAreNamedAsTheyAre(t *testing.T) {
	w := existing(true)
	w.Cluster.Name = "shop"
	w.Benchmark.Status.Resources = &v1alpha1.BenchmarkResources{Suffix: "abcdefghij", Account: true}
	w.until(t, restored)
	w.stall(v1alpha1.ReasonMemberFailed)
	w.Now = w.Now.Add(3 * time.Hour)
	var d Decision
	w.until(t, func(Action) bool {
		d = Next(w.State)
		return w.Benchmark.Status.CompletedAt != nil || d.Action == (Finish{})
	})
	if !strings.HasSuffix(d.Message, "run: DROP DATABASE bench_1x10_abcdefghij; DROP USER bench_abcdefghij") {
		t.Errorf("got %s", d.Message)
	}
	w.Benchmark.Status.Resources.Account = false
	if leftBehind(w.State) != "" {
		t.Error("databases go with the account")
	}
}

// TestThePrivateClustersAccountGoesWithIt.
func TestThePrivateClustersAccountGoesWithIt(t *testing.T) {
	w := newWorld(nil)
	w.Benchmark.Status.Resources = &v1alpha1.BenchmarkResources{Suffix: "abcdefghij", Account: true}
	if got := w.run(t); !strings.HasSuffix(got, "remove, finish Measured") {
		t.Errorf("got %s", got)
	}
}
