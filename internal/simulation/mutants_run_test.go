package simulation

import (
	"slices"
	"testing"
	"time"
)

// searched is how many schedules a mutant may survive.
const searched = 100000

// TestMutants shows that the checker works: every deliberate bug is found, by the promise it
// breaks. The schedules of bugs that were found before are tried first.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			began, steps := time.Now(), 0
			for n := range searched {
				r := Run(m.schedule(n), m.plan)
				steps += r.Steps
				if slices.Contains(m.breaks, r.Violation) {
					t.Logf("caught: %s: schedule %d, step %d, %s", r.Violation, n+1, steps, time.Since(began).Round(time.Millisecond))
					return
				}
			}
			t.Errorf("survived %d schedules, %d steps, %s", searched, steps, time.Since(began))
		})
	}
}

// schedule is the n-th schedule the mutant is looked for in. A split made by a person is
// tried only where it is the point.
func (m mutant) schedule(n int) Schedule {
	if n < len(regressions) {
		return regressions[n].Schedule
	}
	s := drawIn(m.in, uint64(n), 60+n%100)
	if m.breaks[0] == TouchedSplit {
		for i := range s.Events {
			if i%5 == 0 {
				s.Events[i] = Event{SplitByHand, s.Events[i].A % uint8(s.Members), 0}
			}
		}
	}
	return s
}
