package measure

import (
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestTheWarmUpHasRandomNumbersOfItsOwn in every run: the rows that a run asks for must not be those that the warm-up
// has read.
func TestTheWarmUpHasRandomNumbersOfItsOwn(t *testing.T) {
	seeds := map[string]bool{}
	for seed := int64(1); seed <= 5000; seed++ {
		r := &target{plan: result.Plan{Seed: seed}}
		args := r.arguments("oltp_read_only", 1)
		own := args[len(args)-1]
		warm := warmup(args, 5, seed)
		i := slices.IndexFunc(warm, func(a string) bool { return a == own })
		later := warm[len(args)]
		if i < 0 || later == own || seeds[later] || seeds[own] || warm[len(warm)-1] != "run" || args[len(args)-1] != own {
			t.Errorf("seed %d: %v", seed, warm)
		}
		seeds[own], seeds[later] = true, true
	}
}
