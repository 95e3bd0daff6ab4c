package policy

import (
	"fmt"
	"testing"
	"time"
)

// TestDue: a segment goes once nothing has needed it for an hour, and all manifests were read again since.
func TestDue(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	d := Doomed{}
	for _, step := range []struct {
		needless     []uint64
		read, minute int
		due          string
	}{
		{[]uint64{1, 2}, 0, 0, "[]"},
		{[]uint64{1, 2}, 50, 59, "[]"},
		{[]uint64{1, 2}, 0, 60, "[]"}, // a manifest was not read since
		{[]uint64{1, 2, 3}, 1, 61, "[1 2]"},
		{[]uint64{1, 3}, 61, 62, "[1]"}, // 2 is needed again
		{[]uint64{1, 2, 3}, 122, 122, "[1 3]"},
	} {
		at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
		if due := fmt.Sprint(d.Due(step.needless, at(step.read), at(step.minute), time.Hour)); due != step.due {
			t.Errorf("minute %d: %s instead of %s", step.minute, due, step.due)
		}
	}
}
