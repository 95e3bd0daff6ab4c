package simulation

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/plan"
)

func TestScratch(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		n = 2000
	}
	start := time.Now()
	steps := 0
	var reached Reached
	found := map[string]int{}
	shortest := map[string]Schedule{}
	for seed := range n {
		s := Draw(uint64(seed), 30+seed%150)
		r := Run(s, plan.Plan)
		steps += r.Steps
		reached |= r.Reached
		if r.Violation != "" {
			found[r.Violation]++
			s.Events = r.Effective
			if b, ok := shortest[r.Violation]; !ok || len(s.Events) < len(b.Events) {
				shortest[r.Violation] = s
			}
		}
	}
	fmt.Println(steps, time.Since(start), float64(steps)/time.Since(start).Seconds(), reached)
	for v, s := range shortest {
		fmt.Println(v, found[v], len(s.Events))
		fmt.Println(Shrink(s, plan.Plan))
	}
}
