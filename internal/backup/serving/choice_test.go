package serving

import (
	"testing"
	"time"
)

// TestChoose: the first server that is not left alone is streamed from; none while all are.
func TestChoose(t *testing.T) {
	t.Parallel()
	now := time.Now()
	paused, over := attempt{until: now.Add(time.Second)}, attempt{until: now}
	for name, tc := range map[string]struct {
		servers []string
		of      map[string]attempt
		want    string
	}{
		"none":               {},
		"not tried":          {[]string{"a", "b"}, nil, "a"},
		"one is left alone":  {[]string{"a", "b"}, map[string]attempt{"a": paused}, "b"},
		"its pause is over":  {[]string{"a", "b"}, map[string]attempt{"a": over, "b": over}, "a"},
		"all are left alone": {[]string{"a", "b"}, map[string]attempt{"a": paused, "b": paused}, ""},
		"another one is":     {[]string{"a"}, map[string]attempt{"b": paused}, "a"},
	} {
		if got, ok := choose(tc.servers, tc.of, now); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

// TestAttempt: the pause doubles with each stream that does not last, up to a bound, and begins anew after one that
// has: a server that comes and goes does not have the follower change its source with it.
func TestAttempt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var a attempt
	for i, tc := range []struct{ lasted, want time.Duration }{
		{0, 5 * time.Second}, {0, 10 * time.Second}, {59 * time.Second, 20 * time.Second}, {0, 40 * time.Second},
		{0, 80 * time.Second}, {0, 2 * time.Minute}, {0, 2 * time.Minute}, {time.Minute, 5 * time.Second},
		{0, 10 * time.Second},
	} {
		if a = a.ended(now, tc.lasted, "why"); a.until.Sub(now) != tc.want || a.err != "why" {
			t.Errorf("%d: %s, want %s", i, a.until.Sub(now), tc.want)
		}
	}
	for range 100 {
		a = a.ended(now, 0, "why")
	}
	if a.until.Sub(now) != lastPause {
		t.Errorf("after a hundred: %s", a.until.Sub(now))
	}
}
