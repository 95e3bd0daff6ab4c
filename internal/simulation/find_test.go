package simulation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFind prints the shortest schedule found for the mutants whose name contains FIND.
func TestFind(t *testing.T) {
	for _, m := range mutants {
		if os.Getenv("FIND") == "" || !strings.Contains(m.name, os.Getenv("FIND")) {
			continue
		}
		best := Schedule{Events: make([]Event, 1000)}
		found := 0
		for seed := uint64(0); seed < 400000 && found < 8; seed++ {
			s := m.schedule(int(seed) + len(regressions))
			if r := Run(s, m.plan); slices.Contains(m.breaks, r.Violation) {
				found++
				if short := Shrink(s, m.plan); len(short.Events) < len(best.Events) {
					best = short
				}
			}
		}
		if found > 0 {
			fmt.Printf("%s: %s\n%s\n", m.name, Run(best, m.plan).Violation, best)
		} else {
			fmt.Println(m.name, "NOT FOUND")
		}
	}
}
