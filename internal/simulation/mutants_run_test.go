package simulation

import (
	"testing"
	"time"
)

// searched is how many schedules a mutant may survive.
const searched = 60000

// TestMutants shows that the checker works: every deliberate bug is found.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			began, steps := time.Now(), 0
			for seed := range uint64(searched) {
				s := drawFor(m, seed)
				r := Run(s, m.plan)
				steps += r.Steps
				if r.Violation == "" {
					continue
				}
				t.Logf("caught: %s: schedule %d, step %d, %s", r.Violation, seed+1, steps, time.Since(began).Round(time.Millisecond))
				return
			}
			t.Errorf("survived %d schedules, %d steps, %s", searched, steps, time.Since(began))
		})
	}
}

// drawFor draws a schedule; a split made by a person is looked for only where it is the point.
func drawFor(m mutant, seed uint64) Schedule {
	s := drawIn(m.in, seed, 60+int(seed%100))
	if m.name == "two Primary components are not noticed" {
		for i := range s.Events {
			if i%5 == 0 {
				s.Events[i] = Event{SplitByHand, s.Events[i].A % uint8(s.Members), 0}
			}
		}
	}
	return s
}
