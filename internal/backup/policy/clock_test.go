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
		if got.Early != c.early || got.Late != c.late || (got.Why == "") != (c.says == nil) {
			t.Errorf("%s: %+v", name, got)
		}
		for _, says := range c.says {
			if !strings.Contains(got.Why, says) {
				t.Errorf("%s: %s", name, got.Why)
			}
		}
	}
}
