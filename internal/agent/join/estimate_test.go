package join

import (
	"testing"
	"time"
)

func steady(rate int64, hours int, from WriteRate, at time.Time) (WriteRate, time.Time) {
	for range hours * 360 {
		at = at.Add(10 * time.Second)
		from = from.Add(rate*10, 10*time.Second, at)
	}
	return from, at
}

func TestEstimate(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	day, at := steady(1<<20, 8, WriteRate{}, start)
	if day.Average < 0.99*(1<<20) || day.High > 1.01*(1<<20) {
		t.Errorf("eight hours at 1 MiB/s: %+v", day)
	}
	night, _ := steady(1<<10, 12, day, at)
	if night.Average > 2<<10 || night.High < 0.69*(1<<20) || night.High > 0.72*(1<<20) {
		t.Errorf("a night later: %+v", night)
	}
	burst := day.Add(10<<30, 10*time.Second, at.Add(10*time.Second))
	if burst.Average > 20<<20 {
		t.Errorf("ten seconds at 1 GiB/s count for %.0f", burst.Average)
	}
	if got := day.Add(-5, time.Second, at); got != day {
		t.Errorf("a counter that went back counts: %+v", got)
	}
}

func TestSize(t *testing.T) {
	const gib = int64(1) << 30
	rate := func(mib float64) WriteRate { return WriteRate{High: mib * (1 << 20)} }
	for name, c := range map[string]struct {
		e               WriteRate
		window          time.Duration
		budget, present int64
		want            int64
	}{
		"no desired size":                 {rate(100), 0, gib, gib, MinSize},
		"nothing known":                   {WriteRate{}, time.Hour, 100 * gib, 0, MinSize},
		"an hour at 1 MiB/s":              {rate(1), time.Hour, 100 * gib, 0, 6 * gib},
		"within the budget":               {rate(1), time.Hour, gib, 0, gib},
		"a tiny volume":                   {rate(1), time.Hour, 1 << 20, 0, MinSize},
		"kept: large enough":              {rate(1), time.Hour, 100 * gib, 8 * gib, 8 * gib},
		"kept: not twice too large":       {rate(1), time.Hour, 100 * gib, 12 * gib, 12 * gib},
		"shrinks when more than twice":    {rate(1), time.Hour, 100 * gib, 13 * gib, 6 * gib},
		"grows":                           {rate(2), time.Hour, 100 * gib, 6 * gib, 12 * gib},
		"the budget has shrunk":           {rate(1), time.Hour, 2 * gib, 6 * gib, 2 * gib},
		"at the budget, it does not move": {rate(50), time.Hour, 2 * gib, 2 * gib, 2 * gib},
	} {
		if got := gcacheSize(c.e, c.window, c.budget, c.present); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestSizeSettles: whatever the rate, a second start changes nothing.
func TestSizeSettles(t *testing.T) {
	for mib := 0.001; mib < 1000; mib *= 1.3 {
		e := WriteRate{High: mib * (1 << 20)}
		first := gcacheSize(e, 2*time.Hour, 50<<30, 0)
		for _, wobble := range []float64{0.7, 0.99, 1} {
			e2 := WriteRate{High: e.High * wobble}
			if again := gcacheSize(e2, 2*time.Hour, 50<<30, first); again != first {
				t.Errorf("%.3f MiB/s: %d, then %d", mib, first, again)
			}
		}
	}
}

func TestWindow(t *testing.T) {
	for name, c := range map[string]struct {
		high float64
		size int64
		last time.Duration
		want time.Duration
	}{
		"nothing written":   {0, 128 << 20, 0, 0},
		"next to nothing":   {1, 128 << 20, 0, 0},
		"1 MiB/s":           {1 << 20, 128 << 20, 0, time.Minute},
		"100 MiB/s":         {100 << 20, 128 << 20, 0, 10 * time.Second},
		"kept while near":   {1.9 * (1 << 20), 128 << 20, time.Minute, time.Minute},
		"reported when not": {2.4 * (1 << 20), 128 << 20, time.Minute, 30 * time.Second},
		"longer, at once":   {1 << 20, 1280 << 20, time.Minute, 10 * time.Minute},
	} {
		if got := gcacheWindow(WriteRate{High: c.high}, c.size, c.last); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
