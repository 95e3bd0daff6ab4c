package platform

import (
	"context"
	"testing"
	"time"
)

func TestLongest(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	var m LatencyMeter
	if got := m.Longest(start); got != 0 {
		t.Errorf("nothing was measured: got %s", got)
	}
	m.add(at(1), 5*time.Second)
	m.add(at(2), time.Second)
	m.add(at(30), 2*time.Second)
	for name, c := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"the longest of a slot is kept":                {at(3), 5 * time.Second},
		"it counts for the whole window":               {at(54), 5 * time.Second},
		"a slot that left the window does not count":   {at(61), 2 * time.Second},
		"all slots are forgotten after another window": {at(200), 0},
	} {
		if got := m.Longest(c.now); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	m.add(at(61), time.Millisecond) // overwrites the slot of the first minute
	if got := m.Longest(at(61)); got != 2*time.Second {
		t.Errorf("a value of an earlier minute was taken for one of this: %s", got)
	}
}

func TestRunMeasures(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var m LatencyMeter
	done := make(chan struct{})
	go func() { m.Run(ctx); close(done) }()
	deadline := time.Now().Add(30 * time.Second)
	for m.Longest(time.Now()) == 0 && time.Now().Before(deadline) {
		<-time.After(interval / 10)
	}
	if m.Longest(time.Now()) == 0 {
		t.Error("no wake-up was measured")
	}
	cancel()
	<-done
}
