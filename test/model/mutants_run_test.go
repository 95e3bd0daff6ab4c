package model

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/plan"
)

// searched is how many schedules a mutant may survive.
const searched = 100000

// TestMutants shows that the checker works: every deliberate bug is found, by the promise it
// breaks. The schedules of bugs that were found before are tried first.
func TestMutants(t *testing.T) {
	t.Parallel()
	hunt(t, mutants, false)
}

// TestArbitratorMutants is the same in worlds with an arbitrator.
func TestArbitratorMutants(t *testing.T) {
	t.Parallel()
	hunt(t, arbitratorMutants, true)
}

func hunt(t *testing.T, mutants []mutant, arbiter bool) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			began, steps := time.Now(), 0
			for n := range searched {
				r := Run(m.schedule(n, arbiter), m.plan)
				steps += r.Steps
				if m.caught(r.Violation) {
					t.Logf("caught: %s: schedule %d, step %d, %s", r.Violation, n+1, steps, time.Since(began).Round(time.Millisecond))
					return
				}
			}
			t.Errorf("survived %d schedules, %d steps, %s", searched, steps, time.Since(began))
		})
	}
}

// caught reports whether a broken promise shows the mutant. What is forever is first something that is not reported.
func (m mutant) caught(violation string) bool {
	forever := slices.Contains(m.breaks, Stuck) || slices.Contains(m.breaks, HeldUp)
	return slices.Contains(m.breaks, violation) || forever && violation == Unreported
}

// schedule is the n-th schedule the mutant is looked for in. A split made by a user is
// tried only where it is the point.
func (m mutant) schedule(n int, arbiter bool) Schedule {
	if n < len(regressions) {
		return regressions[n].Schedule
	}
	s := drawIn(m.in, uint64(n), 60+n%100, arbiter)
	if m.breaks[0] == TouchedSplit {
		for i := range s.Events {
			if i%5 == 0 {
				s.Events[i] = Event{SplitByHand, s.Events[i].A % uint8(s.Members), 0}
			}
		}
	}
	return s
}

// TestCarelessMembers shows why a member believes only one eviction in a view, and none from another view:
// without that rule writes are lost, or two components serve.
func TestCarelessMembers(t *testing.T) {
	t.Parallel()
	for n := range searched {
		s := drawIn(evictions, uint64(n), 60+n%100, false)
		s.Careless = true
		if r := Run(s, plan.Plan); slices.Contains([]string{TwoPrimaries, LostWrite, BehindAnother}, r.Violation) {
			t.Logf("caught: %s: schedule %d", r.Violation, n+1)
			return
		}
	}
	t.Errorf("survived %d schedules", searched)
}

// TestUnmarkedLines shows why a component that was made of marked data gives the others a full copy.
func TestUnmarkedLines(t *testing.T) {
	t.Parallel()
	for n := range searched {
		s := drawIn(alters, uint64(n), 60+n%100, false)
		s.Unmarked = true
		if r := Run(s, plan.Plan); r.Violation == HalfStatement {
			t.Logf("caught: schedule %d", n+1)
			return
		}
	}
	t.Errorf("survived %d schedules", searched)
}

// evictions: servers that end while the network is cut, and operators that hear of it late.
var evictions = only(map[Kind]int{
	Round: 2, Elapse: 10, Regroup: 30, Agent: 10, Hear: 40, Reconcile: 40, Write: 20, Apply: 4, ApplyAll: 4,
	KillServer: 20, Partition: 12, Heal: 2, SeeStatus: 4, SeePod: 2})

// TestMiscountedLoss: a count that began when the majority was lost, not the component, is noticed; so is one that
// another process has begun by another clock, and one by a clock that is set meanwhile.
func TestMiscountedLoss(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		how    counting
		breaks string
	}{
		"through a minority's":    {countsMajority, MiscountedLoss},
		"by another's clock":      {countsRecorded, MiscountedLoss},
		"by a clock that was set": {countsByClock, Hasty},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range searched {
				s := drawIn(clocks, uint64(n), 60+n%100, false)
				s.Miscounts = c.how
				if r := Run(s, plan.Plan); r.Violation == c.breaks {
					t.Logf("caught: schedule %d", n+1)
					return
				}
			}
			t.Errorf("survived %d schedules", searched)
		})
	}
}
