package wsrep

import (
	"testing"
	"time"
)

// TestLag: a node is behind once it has its group wait in two readings one after the other, and stays it until it has
// not done so for a while.
func TestLag(t *testing.T) {
	now := time.Unix(1000, 0)
	l := lag{pauses: -1}
	for i, step := range []struct {
		after  time.Duration
		pauses int64
		now    bool
		want   bool
		why    string
	}{
		{0, 7, false, false, "what was before the first reading does not count"},
		{time.Second, 8, false, false, "one pause"},
		{time.Second, 8, false, false, "is over"},
		{time.Second, 8, true, false, "it pauses now"},
		{200 * time.Millisecond, 8, true, true, "and still does"},
		{time.Second, 8, false, true, "it goes on, and is not believed yet"},
		{time.Second, 9, false, true, "a pause on its way"},
		{lagQuiet - time.Millisecond, 9, false, true, "the quiet time is counted from the last one"},
		{time.Millisecond, 9, false, false, "it has caught up"},
		{time.Second, 12, false, false, "some pauses between two readings"},
		{200 * time.Millisecond, 15, false, true, "and more"},
		{2 * lagQuiet, 0, false, false, "the server counts anew"},
	} {
		now = now.Add(step.after)
		if got := l.next(Status{Pauses: step.pauses, Pausing: step.now}, now); got != step.want {
			t.Errorf("%d, %s: %v, want %v", i, step.why, got, step.want)
		}
	}
}

// TestReadersDoNotFallBehindInTurn: a node that falls behind again shortly after it has caught up is believed later
// each time, within bounds, and the first time after a while as at first.
func TestReadersDoNotFallBehindInTurn(t *testing.T) {
	now := time.Unix(1000, 0)
	l := lag{pauses: -1}
	// out is for how long the node is behind once it asks for no pause any more.
	out := func() time.Duration {
		for range 2 {
			now = now.Add(time.Second)
			l.next(Status{Pausing: true}, now)
		}
		began := now
		for l.next(Status{}, now) {
			now = now.Add(100 * time.Millisecond)
		}
		return now.Sub(began)
	}
	for i, want := range []float64{5, 10, 20, 40, 60, 60} {
		if got := out().Seconds(); got != want {
			t.Errorf("time %d: behind for %v s, want %v", i+1, got, want)
		}
	}
	now = now.Add(lagMemory)
	if got := out(); got != lagQuiet {
		t.Errorf("after a while: behind for %s", got)
	}
}
