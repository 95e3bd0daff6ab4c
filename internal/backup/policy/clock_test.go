package policy

import (
	"strings"
	"testing"
	"time"
)

// TestJudgeClock: one clock of three may be wrong, and of two that differ neither is believed.
func TestJudgeClock(t *testing.T) {
	const h = time.Hour
	for name, c := range map[string]struct {
		ahead       map[string]time.Duration
		early, late time.Duration
		says        []string
	}{
		"none is known": {nil, 0, 0, nil},
		"all agree":     {map[string]time.Duration{"a": 3 * time.Second, "b": 4 * time.Second}, 0, 0, nil},
		"the archiver's is ahead": {map[string]time.Duration{"a": -h, "b": -h - time.Second}, -h, -h,
			[]string{"the archiver's host is 1h0m0s ahead"}},
		"the archiver's is behind": {map[string]time.Duration{"a": h, "b": h + time.Second}, h, h,
			[]string{"the archiver's host is 1h0m0s behind"}},
		"a node's is ahead": {map[string]time.Duration{"a": h, "b": time.Second}, 0, 0,
			[]string{"a is 1h0m0s ahead"}},
		"a node's is behind":            {map[string]time.Duration{"a": 0, "b": -h}, 0, 0, []string{"b is 1h0m0s behind"}},
		"of two, the node's is ahead":   {map[string]time.Duration{"a": h}, 0, h, []string{"1h0m0s between"}},
		"of two, the node's is behind":  {map[string]time.Duration{"a": -h}, -h, 0, []string{"1h0m0s between"}},
		"of two, the node's is similar": {map[string]time.Duration{"a": 5 * time.Second}, 0, 0, nil},
		"two of four are ahead":         {map[string]time.Duration{"a": h, "b": h, "c": 0}, 0, h, []string{"1h0m0s between"}},
		"two of five are wrong": {map[string]time.Duration{"a": h, "b": -h, "c": 0, "d": 0}, 0, 0,
			[]string{"a is 1h0m0s ahead", "b is 1h0m0s behind"}},
	} {
		got := JudgeClock(c.ahead)
		why := DescribeClocks(got.Differing(nil))
		if got.Early != c.early || got.Late != c.late || len(got.Differing(nil)) != len(c.says) {
			t.Errorf("%s: %+v, %s", name, got, why)
		}
		for _, says := range c.says {
			if !strings.Contains(why, says) {
				t.Errorf("%s: %s", name, why)
			}
		}
	}
}

// TestDifferingSteady: what is reported of clocks does not change with each check, where one is off by about the slack,
// or by about as much as before.
func TestDifferingSteady(t *testing.T) {
	var reported map[string]time.Duration
	for i, c := range []struct {
		off  time.Duration
		want string
	}{
		{4900 * time.Millisecond, ""},
		{5100 * time.Millisecond, "a is 10s ahead"},
		{4900 * time.Millisecond, "a is 10s ahead"},
		{5100 * time.Millisecond, "a is 10s ahead"},
		{14900 * time.Millisecond, "a is 10s ahead"},
		{15100 * time.Millisecond, "a is 20s ahead"}, // it is off by ten seconds more than it was
		{14900 * time.Millisecond, "a is 20s ahead"},
		{3 * time.Second, ""}, // that is another difference
		{5100 * time.Millisecond, "a is 10s ahead"},
		{2400 * time.Millisecond, ""},
		{4900 * time.Millisecond, ""},
		{-6 * time.Second, "a is 10s behind"},
	} {
		reported = JudgeClock(map[string]time.Duration{"a": c.off, "b": 0, "c": 0}).Differing(reported)
		if got := DescribeClocks(reported); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%d: %s is reported as %q", i, c.off, got)
		}
	}
}

// TestTwoHalves: what time it is is not known while one half of the clocks differs from the other one.
func TestTwoHalves(t *testing.T) {
	const h = time.Hour
	for name, c := range map[string]struct {
		ahead map[string]time.Duration
		want  time.Duration
	}{
		"none is known":           {nil, 0},
		"all agree":               {map[string]time.Duration{"a": 4 * time.Second, "b": -4 * time.Second}, 0},
		"of two, one is ahead":    {map[string]time.Duration{"a": h}, h},
		"of two, one is behind":   {map[string]time.Duration{"a": -h}, h},
		"of two, one is similar":  {map[string]time.Duration{"a": 5 * time.Second}, 0},
		"of two, one is too late": {map[string]time.Duration{"a": 6 * time.Second}, 6 * time.Second},
		"of three, one is wrong":  {map[string]time.Duration{"a": h, "b": 0}, 0},
		"of four, one is wrong":   {map[string]time.Duration{"a": h, "b": 0, "c": time.Second}, 0},
		"of four, two are":        {map[string]time.Duration{"a": h, "b": h, "c": 0}, h},
		"of four, two, a little":  {map[string]time.Duration{"a": -6 * time.Second, "b": -6 * time.Second, "c": -2e9}, 0},
	} {
		clock := JudgeClock(c.ahead)
		why := DescribeClocks(clock.Differing(nil))
		if got := clock.Doubt(); got != c.want || strings.Contains(why, "no time is called archived") != (c.want > 0) {
			t.Errorf("%s: %s, %q", name, got, why)
		}
	}
}

// TestDoubtReportedAsDecided: it is reported that no time is called archived while none is, and not until halves have
// come closer.
func TestDoubtReportedAsDecided(t *testing.T) {
	var reported map[string]time.Duration
	for i, off := range []time.Duration{4900e6, 5100e6, 4900e6, 3e9, 5100e6, 14900e6, 9e9, 2e9, 6e9, 5e9} {
		clock := JudgeClock(map[string]time.Duration{"a": off})
		reported = clock.Differing(reported)
		if why := DescribeClocks(reported); (why != "") != (clock.Doubt() > 0) {
			t.Errorf("%d: %s apart, doubt %s: %q", i, off, clock.Doubt(), why)
		}
	}
}
