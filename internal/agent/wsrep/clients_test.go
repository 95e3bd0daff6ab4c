package wsrep

import (
	"slices"
	"testing"
)

// TestBefore: a client in a transaction is counted and let be, and one that came later is neither.
func TestBefore(t *testing.T) {
	for name, c := range map[string]struct {
		all   []client
		count int
		free  []int64
	}{
		"no client":                     {nil, 0, nil},
		"between two transactions":      {[]client{{id: 9, idle: true}}, 1, []int64{9}},
		"in a transaction, or at login": {[]client{{id: 9}}, 1, nil},
		"a replica":                     {[]client{{id: 9, replica: true}}, 1, []int64{9}},
		"later": {[]client{{id: 10, idle: true}, {id: 11, replica: true}, {id: 12}}, 0,
			nil},
		"some of each": {[]client{{id: 7}, {id: 8, idle: true}, {id: 10, idle: true}, {id: 9, replica: true}}, 3,
			[]int64{8, 9}},
	} {
		if count, free := before(c.all, 10); count != c.count || !slices.Equal(free, c.free) {
			t.Errorf("%s: %d, %v", name, count, free)
		}
	}
}
