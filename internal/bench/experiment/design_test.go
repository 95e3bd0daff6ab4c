package experiment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// armed has a number of arms and rounds.
func armed(arms, rounds int, seed int64) *v1alpha1.GaleraBenchmarkSpec {
	s := spec()
	s.Arms, s.Rounds, s.Seed = nil, int32(rounds), seed
	for i := range arms {
		s.Arms = append(s.Arms, v1alpha1.BenchmarkArm{Name: fmt.Sprintf("arm-%d", i)})
	}
	return s
}

// TestOrdersAreBalanced: every arm is equally often at every place, and equally often after every other arm.
func TestOrdersAreBalanced(t *testing.T) {
	for arms := 1; arms <= 12; arms++ {
		rounds := arms * (1 + arms%2)
		for seed := int64(1); seed <= 5; seed++ {
			s := armed(arms, rounds, seed)
			places, after := map[string]int{}, map[string]int{}
			last := Run{}
			for _, r := range Runs(s) {
				if r.Round == last.Round && r.Arm == last.Arm {
					continue
				}
				if r.Round == last.Round {
					after[last.Arm.Name+" "+r.Arm.Name]++
					places[fmt.Sprint(last.Index, r.Arm.Name)] = 0
				}
				last = r
			}
			for pair, n := range after {
				if n*arms != rounds {
					t.Errorf("%d arms, seed %d: %s %d times in %d rounds", arms, seed, pair, n, rounds)
				}
			}
			if want := arms * (arms - 1); len(after) != want {
				t.Errorf("%d arms: %d of %d successions", arms, len(after), want)
			}
			lead := map[string]int{}
			for _, order := range Design(s).Rounds {
				lead[strings.Split(order, ", ")[0]]++
			}
			for arm, n := range lead {
				if n*arms != rounds || len(lead) != arms {
					t.Errorf("%d arms, seed %d: %s leads %d of %d rounds", arms, seed, arm, n, rounds)
				}
			}
			if !Design(s).Balanced {
				t.Errorf("%d arms, %d rounds: not called balanced", arms, rounds)
			}
		}
	}
}

// TestCellsAreBalanced: cells are compared with each other, so none of two is always measured before the other one.
func TestCellsAreBalanced(t *testing.T) {
	for _, rounds := range []int{2, 6} {
		s := armed(2, rounds, 1)
		earlier := map[[2]string]int{}
		for _, a := range Runs(s) {
			for _, b := range Runs(s) {
				if a.Round == b.Round && a.Arm.Name == b.Arm.Name && a.Index < b.Index {
					earlier[[2]string{a.Cell.Variant + a.Cell.Workload.Name, b.Cell.Variant + b.Cell.Workload.Name}]++
				}
			}
		}
		if len(earlier) < 2 {
			t.Fatalf("%d pairs of cells", len(earlier))
		}
		for pair, n := range earlier {
			if n != rounds {
				t.Errorf("%d rounds of 2 arms: %s is %d times before %s", rounds, pair[0], n, pair[1])
			}
		}
	}
	s := armed(1, 3, 1)
	if Design(s).Balanced {
		t.Error("three rounds of several cells are called balanced")
	}
}

// TestOddRoundsAreNotBalanced, and the status says so.
func TestOddRoundsAreNotBalanced(t *testing.T) {
	for rounds, want := range map[int]bool{1: false, 2: true, 3: false, 5: false, 6: true} {
		if got := Design(armed(2, rounds, 1)).Balanced; got != want {
			t.Errorf("two arms, %d rounds: %v", rounds, got)
		}
	}
	if d := Design(armed(3, 3, 7)); d.Balanced || d.Seed != 7 || len(d.Rounds) != 3 {
		t.Errorf("a square without its mirror image: %+v", d)
	}
}

// TestTheSamePreparationBeforeEveryArm: all nodes are restarted before an arm's first run in a round, whether its
// policy is in force already or not, and before no other run.
func TestTheSamePreparationBeforeEveryArm(t *testing.T) {
	for rounds := int32(2); rounds <= 4; rounds++ {
		w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Rounds = rounds
			s.Workloads = append(s.Workloads, v1alpha1.BenchmarkWorkload{Name: "read",
				OLTP: &v1alpha1.OLTPWorkload{Profile: "ReadOnly", Tables: 2, TableSize: 10, Threads: []int32{1}}})
		})
		got := w.run(t)
		acts, last, restarts := strings.Split(got, ", "), "", 0
		for _, act := range acts {
			if strings.HasPrefix(act, "restart") {
				restarts++
			}
			var run int
			if n, _ := fmt.Sscanf(act, "start x-run-%d-1", &run); n == 1 && (run%2 == 1) != strings.HasPrefix(last, "restart") {
				t.Errorf("run %d comes after %q: %s", run, last, got)
			}
			last = act
		}
		if restarts != 2*int(rounds) || strings.Index(got, "x-prepare-2") > strings.Index(got, "x-run-001-1") {
			t.Errorf("%d restarts, or data that are made between the runs: %s", restarts, got)
		}
	}
}

// TestOneArmNeedsNoPreparation, nor does a cluster that others use.
func TestOneArmNeedsNoPreparation(t *testing.T) {
	one := func(s *v1alpha1.GaleraBenchmarkSpec) { s.Arms = s.Arms[:1] }
	if got := newWorld(one).run(t); strings.Contains(got, "restart") {
		t.Errorf("one arm: %s", got)
	}
	if got := existing().run(t); strings.Contains(got, "restart") {
		t.Errorf("an existing cluster: %s", got)
	}
}

// TestARestartThatNeverEnds is given up, and describes what it waited for.
func TestARestartThatNeverEnds(t *testing.T) {
	w := newWorld(nil)
	w.until(t, func(a Action) bool { _, is := a.(Request); return is })
	w.Cluster.Status.Requests[0].State = v1alpha1.RequestPending
	if d := w.step(); d.Action != nil || !strings.Contains(d.Message, "waiting until all nodes were restarted") {
		t.Errorf("got %+v", d)
	}
	w.Now = w.Now.Add(3 * time.Hour)
	if d := Next(w.State); !d.Failed || d.Reason != v1alpha1.ReasonClusterNotReady || !strings.Contains(d.Message,
		"all nodes were restarted") {
		t.Errorf("got %+v", d)
	}
}

// TestComparisonOfWhatDoesNotExist ends the benchmark before anything is made, and describes what there is.
func TestComparisonOfWhatDoesNotExist(t *testing.T) {
	for want, c := range map[string]v1alpha1.BenchmarkCompare{
		`spec.compare[0]: the workload "write" has no variant "threads=9"; it has: ""`: {
			Of:   v1alpha1.BenchmarkCell{Workload: "write", Variant: "threads=9", Arm: "plain"},
			With: v1alpha1.BenchmarkCellPart{Arm: new("encrypted")}},
		"spec.compare[0]: of and with are the same cell": {
			Of: v1alpha1.BenchmarkCell{Workload: "write", Arm: "plain"}, With: v1alpha1.BenchmarkCellPart{Arm: new("plain")}},
		"spec.compare[0]: tps of write and connectionsPerSecond of c cannot be compared": {
			Of: v1alpha1.BenchmarkCell{Workload: "write", Arm: "plain"}, With: v1alpha1.BenchmarkCellPart{Workload: new("c")}},
	} {
		w := newWorld(func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Compare = []v1alpha1.BenchmarkCompare{c}
			s.Workloads = append(s.Workloads, v1alpha1.BenchmarkWorkload{Name: "c",
				Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1}, TLSVersions: []string{"1.3"},
					SessionResumption: []string{"Off"}, Latency: []string{"0s"}}})
		})
		if d := Next(w.State); !d.Failed || !strings.HasPrefix(d.Message, want) {
			t.Errorf("got %q, want %q", d.Message, want)
		}
		if got := w.run(t); got != "finish WorkloadFailed" {
			t.Errorf("got %s", got)
		}
	}
}
