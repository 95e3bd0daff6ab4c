package retention

import (
	"slices"
	"testing"
	"time"
)

func TestExpired(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) // a Monday
	made := func(base bool, h ...int) (out []Backup) {
		for _, h := range h {
			out = append(out, Backup{At: now.Add(-time.Duration(h) * time.Hour), Base: base})
		}
		return out
	}
	hours := func(h ...int) []Backup { return made(false, h...) }
	bases := func(h ...int) []Backup { return made(true, h...) }
	reached := func(b []Backup, i int) []Backup {
		b[i].Reached = true
		return b
	}
	// Sunday and Monday in UTC, and both on Sunday there
	elsewhere := func() (out []Backup) {
		for _, b := range made(false, 11, 13) {
			out = append(out, Backup{At: b.At.In(time.FixedZone("", -5*3600))})
		}
		return out
	}
	for name, c := range map[string]struct {
		backups []Backup
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
		"the base of the window":          {bases(1, 23, 25, 49, 73), Policy{Within: 24 * time.Hour}, []int{3, 4}},
		"the base is one of two days":     {bases(1, 2, 25, 49), Policy{Within: 90 * time.Minute, Daily: 2}, []int{3}},
		"no window, no base":              {bases(1, 23, 25), Policy{Last: 2}, []int{2}},
		"the archive has ended meanwhile": {append(hours(1), bases(23, 25, 49)...), Policy{Within: 24 * time.Hour}, []int{3}},
		"and was never there since": {append(hours(1, 23, 25), bases(49)...), Policy{Within: 24 * time.Hour},
			[]int{2, 3}},
		"the later one is of a line that was lost": {reached(bases(1, 25, 49, 73), 2), Policy{Within: 24 * time.Hour},
			[]int{3}},
		"no window, and what the archive leads from": {reached(bases(1, 25, 49), 2), Policy{Last: 1}, []int{1}},
		"what the archive leads from, and its window": {reached(bases(1, 25, 26, 49), 2), Policy{Last: 1,
			Archive: 720 * time.Hour}, []int{1, 3}},
		"at the beginning of the window": {bases(1, 24, 49), Policy{Within: 24 * time.Hour}, nil},
		"as old as the window":           {hours(1, 24, 25), Policy{Within: 24 * time.Hour}, []int{2}},
		"no window, a moment ago":        {bases(0, 5), Policy{Last: 1}, []int{1}},
		"a day of another year":          {hours(1, 1+24*365), Policy{Daily: 2}, nil},
		"a week of another year":         {hours(1, 1+24*364), Policy{Weekly: 2}, nil},
		"days are those of UTC":          {elsewhere(), Policy{Daily: 2}, nil},
		"weeks are those of UTC":         {elsewhere(), Policy{Weekly: 2}, nil},
		"the only one":                   {hours(10000), Policy{Last: 1}, nil},
		"none":                           {nil, Policy{Last: 1}, nil},
	} {
		if got := Expired(c.backups, c.policy, now); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestArchive: there is always a base from before the archive's window that is not older than twice that, once there
// were backups for as long, and few are kept for it.
func TestArchive(t *testing.T) {
	const day, window = 24 * time.Hour, 30 * 24 * time.Hour
	for name, p := range map[string]Policy{
		"the last two": {Last: 2, Archive: window}, "within a week": {Within: 7 * day, Archive: window},
		"one of each month": {Last: 1, Weekly: 8, Archive: window}} {
		var have []Backup
		now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		for n := range 200 {
			now = now.Add(day)
			have = append(have, Backup{At: now, Base: true})
			expired := Expired(have, p, now)
			slices.Sort(expired)
			for _, i := range slices.Backward(expired) {
				have = slices.Delete(have, i, i+1)
			}
			serves := slices.ContainsFunc(have, func(b Backup) bool {
				return now.Sub(b.At) > window && now.Sub(b.At) <= 2*window+day
			})
			if most := 13; n > 60 && !serves || len(have) > most {
				t.Fatalf("%s, on the day %d: %v", name, n, have)
			}
		}
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	old := []Backup{{At: now.Add(-100 * day)}, {At: now.Add(-90 * day), Base: true}, {At: now.Add(-31 * day), Base: true},
		{At: now}}
	if got := Expired(old, Policy{Last: 1, Archive: window}, now); !slices.Equal(got, []int{1, 0}) {
		t.Errorf("what is older than a base from before the window: %v", got)
	}
	later := []Backup{{At: now.Add(-35 * day), Base: true}, {At: now.Add(-34 * day)}, {At: now}}
	if got := Expired(later, Policy{Last: 1, Archive: window}, now); !slices.Equal(got, []int{1}) {
		t.Errorf("a later one of the span is no base: %v", got)
	}
	if got := Expired(old, Policy{Last: 1}, now); !slices.Equal(got, []int{2, 1, 0}) {
		t.Errorf("without an archive: %v", got)
	}
}
