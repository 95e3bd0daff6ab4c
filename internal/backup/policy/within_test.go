package policy

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestWithin: what is of the follower's line of history, or of one before it, is the archive's; what the archive has in
// a later one may be something else.
func TestWithin(t *testing.T) {
	t.Parallel()
	lines := func(names ...string) (out []binlog.Line) {
		for _, name := range names {
			out = append(out, binlog.Line{History: "h", ID: name})
		}
		return out
	}
	for name, tc := range map[string]struct {
		at, last []binlog.Line
		line     string
		want     bool
	}{
		"nothing was streamed":    {lines("a", "b"), lines("a", "b"), "", true},
		"its own":                 {lines("a"), lines("a"), "h/a", true},
		"its own, and a later":    {lines("a"), lines("a", "b"), "h/a", true},
		"the one before":          {lines("a"), lines("a", "b"), "h/b", true},
		"the one before, later":   {lines("a"), lines("a", "b", "c"), "h/b", true},
		"a later one":             {lines("a", "b"), lines("a", "b"), "h/a", false},
		"two later":               {lines("a", "b", "c"), lines("a", "b", "c"), "h/a", false},
		"of another chain":        {lines("c"), lines("c", "d"), "h/a", false},
		"a later one, cut short":  {lines("c"), lines("a", "c"), "h/a", false},
		"its own in a new chain":  {lines("b"), lines("b", "c"), "h/b", true},
		"no line is known":        {nil, lines("a"), "h/a", false},
		"another history's":       {[]binlog.Line{{History: "g", ID: "a"}}, lines("a"), "h/a", false},
		"nothing of the last one": {lines("a"), nil, "h/b", false},
	} {
		if got := Within(binlog.Head{Lines: tc.at}.Line(), tc.last, tc.line); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
