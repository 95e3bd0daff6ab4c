package policy

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestCheck: each chain of a base is followed to its end, and no further. A segment that is lost or exchanged is named.
func TestCheck(t *testing.T) {
	two := newStore().begins(3, "it is the first").segment(5, 10).segment(8, 20).begins(20, "a gap").segment(25, 40).
		segment(30, 50)
	exchanged := append([]binlog.Head{}, two.heads...)
	exchanged[2].Before = "another"
	anew := append([]binlog.Head{}, two.heads...)
	anew[3].Before = "another"
	for name, c := range map[string]struct {
		heads  []binlog.Head
		bases  []Base
		from   uint64
		want   int
		number uint64
		why    string
	}{
		"the first chain ends":      {two.heads, []Base{base("b1", 5, 10)}, 3, 1, 0, ""},
		"the second one":            {two.heads, []Base{base("b2", 20, 30)}, 5, 2, 0, ""},
		"both":                      {two.heads, []Base{base("b2", 20, 30), base("b1", 3, 5)}, 2, 4, 0, ""},
		"once":                      {two.heads, []Base{base("b2", 26, 45), base("b1", 20, 30)}, 5, 2, 0, ""},
		"a base that names no line": {two.heads, []Base{{ID: "b1", GTID: gtid(3)}}, 0, 0, 0, ""},
		"a base of no chain":        {two.heads, []Base{base("b1", 10, 25)}, 3, 1, 0, ""},
		"nothing":                   {nil, []Base{base("b1", 3, 5)}, 0, 0, 0, ""},
		"one is lost": {append([]binlog.Head{}, append(two.heads[:4:4], two.heads[5:]...)...),
			[]Base{base("b2", 20, 30)}, 0, 0, 5, "is missing"},
		"the end of a chain is lost": {append([]binlog.Head{}, append(two.heads[:2:2], two.heads[3:]...)...),
			[]Base{base("b1", 3, 5)}, 0, 0, 3, "is missing"},
		"one is exchanged":           {exchanged, []Base{base("b1", 3, 5)}, 0, 0, 3, "exchanged"},
		"a beginning is exchanged":   {anew, []Base{base("b1", 3, 5)}, 0, 0, 4, "exchanged"},
		"one is exchanged elsewhere": {exchanged, []Base{base("b2", 20, 30)}, 5, 2, 0, ""},
	} {
		of, number, why := Check(c.heads, c.bases)
		if len(of) != c.want || number != c.number || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: %d segments, the segment %d: %q", name, len(of), number, why)
		} else if len(of) > 0 && of[0].Number != c.from {
			t.Errorf("%s: from %d on", name, of[0].Number)
		}
	}
}
