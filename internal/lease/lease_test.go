package lease

import (
	"testing"
	"time"
)

// TestHolder: a renewal counts from the question, a later one than what is known counts only, and an agent that has
// heard of none has none.
func TestHolder(t *testing.T) {
	var h Holder
	if h.Left(0) != 0 || !h.Ends(0) {
		t.Error("nothing was heard")
	}
	h.Hear(100 * time.Second)
	if left := h.Left(105 * time.Second); left != 23500*time.Millisecond {
		t.Errorf("%s are left", left)
	}
	h.Hear(95 * time.Second) // of a slow program
	if left := h.Left(107 * time.Second); left != 21500*time.Millisecond {
		t.Errorf("%s are left after the answer to an earlier question", left)
	}
	if end := 100*time.Second + 28500*time.Millisecond; h.Left(end) != 0 || h.Left(end-1) != 1 {
		t.Errorf("it does not end at %s", end)
	}
	if h.Ends(120*time.Second) || !h.Ends(120500*time.Millisecond) {
		t.Error("the server is not closed before the end")
	}
	if h.Left(99*time.Second) != 0 {
		t.Error("a clock that goes back is believed")
	}
}

// TestUnwanted: that a lease is turned off counts by a renewal that was asked for afterwards, each time anew.
func TestUnwanted(t *testing.T) {
	var u Unwanted
	h := Holder{Known: true, Asked: 10 * time.Second}
	heard := func(when string, want int64) {
		t.Helper()
		if have := u.Heard(h); have != want {
			t.Errorf("%s: %d", when, have)
		}
	}
	u.Read(0, 0)
	heard("it is wanted", 0)
	u.Read(7, 10*time.Second)
	heard("a renewal from before", 0)
	h.Hear(11 * time.Second)
	u.Read(7, 12*time.Second)
	heard("one from after", 7)
	u.Read(9, 12*time.Second)
	heard("it is turned off again", 0)
	u.Read(0, 13*time.Second)
	u.Read(9, 14*time.Second)
	h.Hear(13 * time.Second)
	heard("it was wanted meanwhile", 0)
	u.Read(9, 15*time.Second)
	h.Hear(15 * time.Second)
	heard("one from after that", 9)
	u = Unwanted{}
	u.Read(9, 0)
	h = Holder{}
	heard("a new agent", 0)
}

// TestTaker: a site that takes over waits for a lease that was announced, and for knowing whether one was.
func TestTaker(t *testing.T) {
	for name, c := range map[string]struct {
		Taker
		at   time.Duration
		want bool
	}{
		"not recorded":           {Taker{Looked: true}, time.Hour, false},
		"not looked":             {Taker{Recorded: true}, time.Hour, false},
		"no lease":               {Taker{Recorded: true, Looked: true, RecordedAt: time.Hour}, time.Hour, true},
		"a lease, at once":       {Taker{Recorded: true, Looked: true, Announced: true}, Wait - 1, false},
		"a lease that has ended": {Taker{Recorded: true, Looked: true, Announced: true}, Wait, true},
	} {
		if have := c.MayWrite(c.at); have != c.want {
			t.Errorf("%s: %v", name, have)
		}
	}
}

// TestSteps: in whichever order the steps of a first renewal, and of a site that takes over, are carried out, one of
// both sees what the other one has done.
func TestSteps(t *testing.T) {
	for order := range 1 << 4 {
		var announced, promoted, renewed, found bool
		var a, b int
		for i := range 4 {
			switch {
			case order>>i&1 == 0 && a < 2:
				if Steps[a+1] == Announce {
					announced = true
				} else {
					renewed = !promoted
				}
				a++
			case b == 0:
				promoted = true
				b++
			case b == 1:
				found = announced
				b++
			}
		}
		if a == 2 && b == 2 && renewed && !found {
			t.Errorf("in the order %04b the lease is renewed, and is not found", order)
		}
	}
}
