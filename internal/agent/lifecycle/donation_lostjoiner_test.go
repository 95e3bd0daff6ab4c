package lifecycle

import (
	"testing"
	"time"
)

// TestLostJoiner: a joiner is lost that is silent and owes an answer, or has been silent for longer than any that lives
// would be, or takes nothing of what waits for longer than a live one lets a transfer stall.
func TestLostJoiner(t *testing.T) {
	const minute, every = time.Minute, 10 * time.Second
	// part is what the checks of some time see; silent counts from its beginning.
	type part struct {
		lasts      time.Duration
		heard      bool // something comes all the time
		owed, gone bool
		queued     bool
		takes      uint64 // bytes between two checks
	}
	for name, c := range map[string]struct {
		parts []part
		limit time.Duration
		lost  time.Duration // after which it is, 0 for never
	}{
		"vanished in the middle": {[]part{{lasts: minute, heard: true, owed: true},
			{lasts: time.Hour, owed: true}}, 10 * minute, 11*minute + every},
		"with little patience": {[]part{{lasts: minute, heard: true, owed: true},
			{lasts: time.Hour, owed: true}}, minute, 2*minute + every},
		"slow, and it reports so": {[]part{{lasts: 5 * time.Hour, heard: true, owed: true}}, 10 * minute, 0},
		"without space, asked every two minutes": {[]part{{lasts: 119 * time.Second}, {lasts: every, heard: true},
			{lasts: 119 * time.Second}, {lasts: every, heard: true}}, minute, 0},
		"without space, and one answer was lost": {[]part{{lasts: 230 * time.Second}, {lasts: time.Hour, heard: true}},
			minute, 0},
		"without space, and gone":   {[]part{{lasts: time.Hour}}, minute, 4*minute + 2*every},
		"nothing to send, and gone": {[]part{{lasts: time.Hour}}, 10 * minute, 11*minute + 2*every},
		"nothing to send for long, and then much": {[]part{{lasts: 10 * minute}, {lasts: every, owed: true},
			{lasts: time.Hour, heard: true, owed: true}}, 10 * minute, 0},
		"it prepares": {[]part{{lasts: minute, heard: true}, {lasts: 5 * time.Hour, gone: true}},
			minute, 0},
		"its volume is frozen": {[]part{{lasts: 5 * minute, heard: true, queued: true, takes: 1},
			{lasts: time.Hour, heard: true, queued: true}}, 10 * minute, 16*minute + every},
		"it takes a byte now and then": {[]part{{lasts: 10 * minute, heard: true, queued: true},
			{lasts: every, heard: true, queued: true, takes: 1}, {lasts: 10 * minute, heard: true, queued: true}},
			10 * minute, 0},
		"nothing waits, as its donor waits for a lock": {[]part{{lasts: 5 * time.Hour, heard: true}}, minute, 0},
		"its volume is frozen, and the donor has no quorum for a while": {[]part{{lasts: 10 * minute, heard: true, queued: true},
			{lasts: every, gone: true}, {lasts: 10 * minute, heard: true, queued: true}}, 10 * minute, 0},
		"closed before it was too long": {[]part{{lasts: 9 * minute, owed: true}, {lasts: every, gone: true},
			{lasts: 9 * minute, owed: true}}, 10 * minute, 0},
		"the network was cut for a while": {[]part{{lasts: 9 * minute, owed: true},
			{lasts: every, heard: true, owed: true}, {lasts: 9 * minute, owed: true}}, 10 * minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var h JoinerWatch
			start := time.Unix(100000, 0)
			var passed, lost time.Duration
			silent, taken := time.Duration(0), uint64(1)
			for _, p := range c.parts {
				for end := passed + p.lasts; passed < end && lost == 0; {
					passed += every
					if silent += every; p.heard {
						silent = time.Millisecond
					}
					taken += p.takes
					why, _ := h.See(start.Add(passed), JoinerObservation{Connected: !p.gone, Silent: silent, OwesACK: p.owed,
						Queued: p.queued, Taken: taken}, c.limit)
					if why != "" {
						lost = passed
					}
					if why == JoinerTakesNothing != (why != "" && p.queued) {
						t.Errorf("%q", why)
					}
				}
			}
			if lost != c.lost {
				t.Errorf("lost after %s, want %s", lost, c.lost)
			}
		})
	}
}
