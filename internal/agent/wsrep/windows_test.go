package wsrep

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func w(user, all int) agentapi.SendWindows {
	return agentapi.SendWindows{UserSendWindow: user, SendWindow: all}
}

func TestWindows(t *testing.T) {
	for name, c := range map[string]struct {
		roundTrip time.Duration
		last      agentapi.SendWindows
		want      agentapi.SendWindows
	}{
		"one host":                         {50 * time.Microsecond, w(0, 0), w(1, 2)},
		"one region":                       {time.Millisecond, w(0, 0), w(2, 4)},
		"a country":                        {10 * time.Millisecond, w(0, 0), w(8, 16)},
		"a continent":                      {40 * time.Millisecond, w(0, 0), w(32, 64)},
		"an ocean":                         {170 * time.Millisecond, w(0, 0), w(192, 384)},
		"a satellite's":                    {time.Hour, w(0, 0), w(512, 1024)},
		"kept a little above near":         {350 * time.Microsecond, w(1, 2), w(1, 2)},
		"kept a little below near":         {250 * time.Microsecond, w(2, 4), w(2, 4)},
		"left well above near":             {400 * time.Microsecond, w(1, 2), w(2, 4)},
		"left well below near":             {200 * time.Microsecond, w(2, 4), w(1, 2)},
		"kept a little above far":          {11 * time.Millisecond, w(2, 4), w(2, 4)},
		"left well above far":              {13 * time.Millisecond, w(2, 4), w(12, 24)},
		"kept between two steps":           {38 * time.Millisecond, w(32, 64), w(32, 64)},
		"a node was moved to another land": {80 * time.Millisecond, w(1, 2), w(64, 128)},
	} {
		if got := SendWindows(c.roundTrip, c.last); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestWindowsSettle: at any distance, a figure that wobbles by a tenth changes the windows once at most, and
// evs.send_window is never the smaller one, which Galera refuses.
func TestWindowsSettle(t *testing.T) {
	for rtt := 10 * time.Microsecond; rtt < time.Second; rtt = rtt * 11 / 10 {
		last := SendWindows(rtt, agentapi.SendWindows{})
		if last.SendWindow < last.UserSendWindow || last.UserSendWindow < 1 {
			t.Fatalf("%s: %+v", rtt, last)
		}
		for _, share := range []float64{0.9, 1.1, 0.95, 1.05} {
			if again := SendWindows(time.Duration(share*float64(rtt)), last); again != last {
				t.Errorf("%s: %+v, then %+v", rtt, last, again)
			}
		}
	}
}

func TestStableRoundTrip(t *testing.T) {
	for _, c := range []struct{ roundTrip, last, want time.Duration }{
		{56 * time.Microsecond, 0, 56 * time.Microsecond},
		{1234 * time.Microsecond, 0, 1200 * time.Microsecond},
		{40123 * time.Microsecond, 0, 40 * time.Millisecond},
		{40123 * time.Microsecond, 38 * time.Millisecond, 38 * time.Millisecond},
		{20 * time.Millisecond, 38 * time.Millisecond, 20 * time.Millisecond},
	} {
		if got := stableRoundTrip(c.roundTrip, c.last); got != c.want {
			t.Errorf("%s after %s: %s, want %s", c.roundTrip, c.last, got, c.want)
		}
	}
}
