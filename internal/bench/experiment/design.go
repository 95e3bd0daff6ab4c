package experiment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// Runs returns all measurements in their order: in every round all arms, in the order of orders; within an arm all
// cells, so that the cluster is prepared once per arm and round. Every second round takes the cells from the last to
// the first: cells are compared with each other, too, and none of two must always be the later one.
func Runs(s *v1alpha1.GaleraBenchmarkSpec) []Run {
	cells := Cells(s)
	var out []Run
	for round, order := range orders(s) {
		if round > 0 {
			slices.Reverse(cells)
		}
		for _, arm := range order {
			for _, c := range cells {
				if c.Kind == result.KindCipher && arm > 0 || !serves(s, s.Arms[arm].Name, c) {
					continue // no policy changes how fast a CPU encrypts
				}
				out = append(out, Run{Index: len(out) + 1, Round: round + 1, Arm: &s.Arms[arm], Cell: c})
			}
		}
	}
	return out
}

// orders are those of the arms in each round: the rows of Williams squares. The seed decides which arm is which letter,
// and in which order the rows of a square come.
func orders(s *v1alpha1.GaleraBenchmarkSpec) (out [][]int) {
	r := rand.New(rand.NewPCG(uint64(s.Seed), 0x67616c657261)) //nolint:gosec // an order, not a secret
	n := len(s.Arms)
	if n == 0 {
		return nil
	}
	letters := r.Perm(n)
	for mirrored := false; len(out) < int(s.Rounds); mirrored = !mirrored && n%2 == 1 {
		square := williams(n, mirrored)
		for _, at := range r.Perm(n)[:min(n, int(s.Rounds)-len(out))] {
			row := square[at]
			for i, letter := range row {
				row[i] = letters[letter]
			}
			out = append(out, row)
		}
	}
	return out
}

// williams returns n orders of n: each is once at every place. With an even n each is once directly after every other;
// with an odd one it is in a square and its mirror image together twice.
func williams(n int, mirrored bool) (square [][]int) {
	for i := range n {
		row := make([]int, n)
		for j := range n {
			step := (j + 1) / 2 // 0, 1, n-1, 2, n-2, …
			if j%2 == 0 {
				step = n - step
			}
			at := j
			if mirrored {
				at = n - 1 - j
			}
			row[at] = (i + 1 + step) % n
		}
		square = append(square, row)
	}
	return square
}

// Design is the order of the arms, as the status has it.
func Design(s *v1alpha1.GaleraBenchmarkSpec) *v1alpha1.BenchmarkDesign {
	d := &v1alpha1.BenchmarkDesign{Seed: s.Seed}
	all := orders(s)
	d.Balanced = balanced(all, len(s.Arms)) && (len(Cells(s)) < 2 || len(all)%2 == 0)
	for _, order := range all {
		var names []string
		for _, arm := range order {
			names = append(names, s.Arms[arm].Name)
		}
		d.Rounds = append(d.Rounds, strings.Join(names, ", "))
	}
	return d
}

// balanced counts how often each arm is at each place, and after each other.
func balanced(orders [][]int, arms int) bool {
	places, after := map[[2]int]int{}, map[[2]int]int{}
	for _, order := range orders {
		for place, arm := range order {
			places[[2]int{place, arm}]++
			if place > 0 {
				after[[2]int{order[place-1], arm}]++
			}
		}
	}
	for a := range arms {
		for b := range arms {
			if places[[2]int{a, b}]*arms != len(orders) || a != b && after[[2]int{a, b}]*arms != len(orders) {
				return false
			}
		}
	}
	return true
}

// preparation is the request by which all nodes of a private cluster are restarted before an arm's first run in a
// round: what a switch of policy restarts, and an arm that needs no switch does not, must make no difference. "" for a
// run that needs none.
func preparation(s State, run Run) string {
	spec := &s.Benchmark.Spec
	if spec.Cluster.Template == nil || len(spec.Arms) < 2 || spec.Rounds < 2 {
		return ""
	}
	for _, r := range Runs(spec) {
		if r.Round == run.Round && r.Arm.Name == run.Arm.Name {
			if r.Index != run.Index {
				return ""
			}
			break
		}
	}
	return fmt.Sprintf("%s@%s-round-%d-%s", v1alpha1.AllNodes, s.Benchmark.Name, run.Round, run.Arm.Name)
}

// unprepared is what a run's preparation waits for, "" when it is over; ask is the request to make first, nil when it
// was made.
func unprepared(s State, run Run) (why string, ask Action) {
	want := preparation(s, run)
	if want == "" {
		return "", nil
	}
	if s.Cluster.Annotations[v1alpha1.AnnotationRestart] != want {
		return "restarting all nodes, as before every arm", Request{v1alpha1.AnnotationRestart, want}
	}
	for _, r := range s.Cluster.Status.Requests {
		if r.Kind == v1alpha1.RequestRestart && r.Node+"@"+r.Token == want && r.State == v1alpha1.RequestDone {
			return "", nil
		}
	}
	return "waiting until all nodes were restarted, as before every arm", nil
}
