package program

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for name, c := range map[string]struct {
		env     map[string]string
		percent int
		limit   int64
		fails   bool
	}{
		"no limit":      {percent: growth, limit: math.MaxInt64},
		"a limit":       {env: map[string]string{"MEMORY_LIMIT": "402653184"}, percent: growth, limit: 256 << 20},
		"a small limit": {env: map[string]string{"MEMORY_LIMIT": "1000"}, percent: growth, limit: 500},
		"Go's own go first": {env: map[string]string{"MEMORY_LIMIT": "1000", "GOMEMLIMIT": "2GiB", "GOGC": "70"},
			percent: 100, limit: math.MaxInt64},
		"no number of bytes": {env: map[string]string{"MEMORY_LIMIT": "384Mi"}, percent: growth, limit: math.MaxInt64,
			fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetGCPercent(100)
			debug.SetMemoryLimit(math.MaxInt64)
			if err := limitMemory(func(key string) string { return c.env[key] }); (err != nil) != c.fails {
				t.Fatal(err)
			}
			if got := debug.SetMemoryLimit(-1); got != c.limit {
				t.Errorf("the limit is %d", got)
			}
			if got := debug.SetGCPercent(100); got != c.percent {
				t.Errorf("the heap may grow by %d %%", got)
			}
		})
	}
}
