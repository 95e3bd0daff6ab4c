package binlog

import (
	"testing"
	"time"
)

// TestSince: what says to be of before a time that was called archived, and was read long after that, was committed
// after it. What was read soon may be of a clock that is a little behind.
func TestSince(t *testing.T) {
	none := time.Time{}
	for name, c := range map[string]struct {
		read           time.Time
		latest         time.Time
		floor, ceiling time.Time
		raw, after     int
	}{
		"none says so":           {none, none, second(15), second(45), 30, 30},
		"read soon":              {second(25), none, second(15), second(45), 17, 17},
		"read late":              {second(26), none, second(20), second(45), 17, 20},
		"the last one was later": {second(26), second(60), second(60), second(60), 17, 60},
		"of long before":         {second(26), none, second(20), second(45), -9000, 20},
	} {
		got := Between(second(20), second(40), c.latest).Since(second(20), c.read)
		if got.Floor != c.floor || got.Ceiling != c.ceiling || got.Low != second(15) {
			t.Errorf("%s: %+v", name, got)
		}
		if at := got.After(none, second(c.raw)); at != second(c.after) {
			t.Errorf("%s: %d is %s", name, c.raw, at)
		}
	}
	if got := Between(second(80), second(40), none).Since(second(80), second(90)); got.Ceiling != second(80) {
		t.Errorf("a clock went back: %+v", got)
	}
	if got := Between(none, second(40), none).Since(none, none); got != Between(none, second(40), none) {
		t.Errorf("nothing was archived before: %+v", got)
	}
	doubtful := Doubtful(second(20), second(40), second(90), none)
	if got := doubtful.Since(second(20), second(50)); got != doubtful {
		t.Errorf("in two halves: %+v", got)
	}
}
