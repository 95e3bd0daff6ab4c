package lifecycle

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	last := time.Duration(0)
	for n := range 40 {
		d := Backoff(n)
		if d < last || d > maxBackoff {
			t.Errorf("%d: %s after %s", n, d, last)
		}
		last = d
	}
	if Backoff(0) != 0 || Backoff(1) == 0 || last != maxBackoff {
		t.Errorf("%s %s %s", Backoff(0), Backoff(1), last)
	}
}

func TestTransferBackoff(t *testing.T) {
	var before time.Duration
	for n := range 40 {
		got := transferBackoff(n)
		if got < RetryAfterTransfer || got < before || got > 5*time.Minute {
			t.Errorf("%d: %s after %s", n, got, before)
		}
		before = got
	}
	if before != 5*time.Minute {
		t.Errorf("ends at %s", before)
	}
}
