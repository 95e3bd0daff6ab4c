package external

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace: no more than the rate is read in the mean, however much is asked for at once, and nothing waits without a
// rate.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			rate     int64
			reads    []int64
			at, most time.Duration
		}{
			"no bound":              {0, []int64{1 << 40}, 0, 0},
			"little at a time":      {100, []int64{50, 50, 50, 50, 50, 50}, 2 * time.Second, 2100 * time.Millisecond},
			"a table at once":       {1 << 20, []int64{60 << 20}, 59 * time.Second, 61 * time.Second},
			"nothing to read":       {100, []int64{0, 0}, 0, 0},
			"more than in a second": {100, []int64{1000}, 9 * time.Second, 9100 * time.Millisecond},
		} {
			began, p := time.Now(), newPace(c.rate)
			for _, n := range c.reads {
				if err := p.wait(t.Context(), n); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if took := time.Since(began); took < c.at || took > c.most {
				t.Errorf("%s: %s", name, took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newPace(1).wait(ctx, 10); err == nil {
			t.Error("it waits although it was cancelled")
		}
	})
}
