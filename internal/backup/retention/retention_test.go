package retention

import (
	"slices"
	"testing"
	"time"
)

func TestExpired(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) // a Monday
	hours := func(h ...int) (out []time.Time) {
		for _, h := range h {
			out = append(out, now.Add(-time.Duration(h)*time.Hour))
		}
		return out
	}
	for name, c := range map[string]struct {
		backups []time.Time
		policy  Policy
		want    []int
	}{
		"no rule keeps the latest":        {hours(50, 1, 3), Policy{}, []int{2, 0}},
		"the last two, in any order":      {hours(5, 1, 3), Policy{Last: 2}, []int{0}},
		"within a day":                    {hours(1, 23, 25), Policy{Within: 24 * time.Hour}, []int{2}},
		"one of each of two days":         {hours(1, 2, 20, 22, 50), Policy{Daily: 2}, []int{1, 3, 4}},
		"days without a backup count not": {hours(1, 100, 200), Policy{Daily: 3}, nil},
		"one of each of two weeks":        {hours(1, 24*3, 24*4, 24*9), Policy{Weekly: 2}, []int{2, 3}},
		"any rule keeps":                  {hours(1, 2, 30, 24*8), Policy{Last: 1, Daily: 2, Weekly: 3}, []int{1}},
		"the base of the window":          {hours(1, 23, 25, 49, 73), Policy{Within: 24 * time.Hour, Base: true}, []int{3, 4}},
		"the base is one of two days":     {hours(1, 2, 25, 49), Policy{Within: 90 * time.Minute, Daily: 2, Base: true}, []int{3}},
		"no window, no base":              {hours(1, 23, 25), Policy{Last: 2, Base: true}, []int{2}},
		"the only one":                    {hours(10000), Policy{Last: 1}, nil},
		"none":                            {nil, Policy{Last: 1}, nil},
	} {
		if got := Expired(c.backups, c.policy, now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
