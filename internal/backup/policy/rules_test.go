package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

// TestBreak: a segment goes on from the one before it in every respect, or in a later line that begins with all of it.
func TestBreak(t *testing.T) {
	before := binlog.Head{Number: 4, Checksum: "c4", Last: gtid(20), Seqno: 2000, Chain: 1, Session: "s",
		Lines: []binlog.Line{line("a", 0), line("b", 500)}}
	next := binlog.Head{Number: 5, Before: "c4", Previous: gtid(20), Last: gtid(30), Chain: 1, Session: "s",
		Lines: slices.Clone(before.Lines)}
	onwards := next
	onwards.Continues, onwards.Lines = true, append(slices.Clone(before.Lines), line("c", 2000))
	for name, c := range map[string]struct {
		h      binlog.Head
		change func(h *binlog.Head)
		says   string
	}{
		"as it is":                  {next, func(*binlog.Head) {}, ""},
		"of another number":         {next, func(h *binlog.Head) { h.Number = 6 }, "is missing"},
		"after another one":         {next, func(h *binlog.Head) { h.Before = "c3" }, "exchanged"},
		"it begins anew":            {next, func(h *binlog.Head) { h.Begins = true }, "begins anew"},
		"after another transaction": {next, func(h *binlog.Head) { h.Previous = gtid(19) }, "goes on after"},
		"of another chain":          {next, func(h *binlog.Head) { h.Chain = 2 }, "goes on after"},
		"of another session":        {next, func(h *binlog.Head) { h.Session = "s2" }, "goes on after"},
		"of another line":           {next, func(h *binlog.Head) { h.Lines[1] = line("d", 500) }, "of the line of history"},
		"of an earlier line":        {next, func(h *binlog.Head) { h.Lines = h.Lines[:1] }, "of the line of history"},
		"of its line, after others": {next, func(h *binlog.Head) { h.Lines = h.Lines[1:] }, "of the line of history"},
		"of a later line":           {onwards, func(*binlog.Head) {}, ""},
		"without a word of it":      {onwards, func(h *binlog.Head) { h.Continues = false }, "of the line of history"},
		"of one after another one": {onwards, func(h *binlog.Head) { h.Lines[0] = line("d", 0) },
			"of the line of history"},
		"of one that lacks the last": {onwards, func(h *binlog.Head) { h.Lines[2] = line("c", 1999) },
			"of the line of history"},
		"of one that was copied":    {onwards, func(h *binlog.Head) { h.Lines[2].Copied = true }, "of the line of history"},
		"of one of another history": {onwards, func(h *binlog.Head) { h.Lines[2].History = "x" }, "of the line of history"},
		"of two, the second too late": {onwards, func(h *binlog.Head) { h.Lines = append(h.Lines, line("d", 1999)) },
			"of the line of history"},
		"of as many, the last another": {onwards,
			func(h *binlog.Head) { h.Lines = []binlog.Line{before.Lines[0], line("c", 2000)} },
			"of the line of history"},
	} {
		h := c.h
		h.Lines = slices.Clone(h.Lines)
		c.change(&h)
		if why := Break(before, h); (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestForeignTransactions: what another server has written is known only by its domain, its server and its number.
func TestForeignTransactions(t *testing.T) {
	known := binlog.GTID{Domain: 5, Server: 9, Seq: 7}
	at := binlog.Head{Foreign: []binlog.GTID{{Domain: 4, Server: 1, Seq: 1}, known, {Domain: 6, Server: 1, Seq: 1}}}
	for g, want := range map[binlog.GTID]bool{known: false, {Domain: 5, Server: 9, Seq: 6}: false,
		{Domain: 5, Server: 9, Seq: 8}: true, {Domain: 7, Server: 9, Seq: 7}: true, {Domain: 5, Server: 8, Seq: 7}: true,
		{Domain: 4, Server: 9, Seq: 7}: true} {
		if later := Foreign(at, []binlog.GTID{g}); (len(later) == 1) != want {
			t.Errorf("%s is later: %v", g, later)
		}
	}
}

// TestBaseOf: a position counts only in the history of the backup's line.
func TestBaseOf(t *testing.T) {
	const one, other = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"
	for position, want := range map[string]int64{one + ":77": 77, other + ":77": 0, "": 0, "x": 0} {
		m := manifest.Manifest{ID: "b1", GTID: "0-1-7,5-9-8", Position: position, Line: binlog.Line{History: one, ID: "a"},
			CompletedAt: at(3)}
		b := BaseOf(m, 0)
		if b.Seqno != want || b.GTID != gtid(7) || (b.why() == "") != (want > 0) || !b.Time.Equal(at(3)) {
			t.Errorf("%q: %+v", position, b)
		}
	}
	b := base("b1", 7, 3)
	if b.Line.ID = ""; b.why() == "" {
		t.Error("a base without a line")
	}
}

// TestBelongs: a base of a later line of a chain is one only from where the archive went on in that line. What that
// line has before is in the segments of the earlier one.
func TestBelongs(t *testing.T) {
	later := line("b", 3000)
	later.After = gtid(20)
	h := binlog.Head{Session: "s", From: 1, Lines: []binlog.Line{line("a", 0), later}}
	for name, c := range map[string]struct {
		base Base
		want bool
	}{
		"of the first line":                 {base("b1", 12, 0), true},
		"of the first, up to the later one": {base("b1", 30, 0), true},
		"of the first, beyond":              {base("b1", 31, 0), false},
		"of the later one":                  {ofLine(base("b1", 31, 0), later), true},
		"of the later one, where it begins": {ofLine(base("b1", 20, 0), later), true},
		"of the later one, before":          {ofLine(base("b1", 19, 0), later), false},
		"of another one":                    {ofLine(base("b1", 12, 0), line("c", 0)), false},
	} {
		if have := belongs(c.base, h); have != c.want {
			t.Errorf("%s: %v", name, have)
		}
	}
}

// TestThrough: a time beyond the last transaction can be restored only if it was noted for that very end of the
// archive.
func TestThrough(t *testing.T) {
	s := newStore().begins(5, "").segment(10, 10).segment(20, 20)
	for through, want := range map[binlog.Through]bool{{Time: at(50), Last: gtid(20), Segment: 3}: true,
		{Time: at(50), Last: gtid(20), Segment: 2}: false, {Time: at(50), Last: gtid(19), Segment: 3}: false} {
		_, err := Choose(s.heads, base("b1", 12, 15), binlog.Target{Time: at(40)}, through)
		if (err == nil) != want {
			t.Errorf("%+v: %v", through, err)
		}
	}
}

// TestHoles: numbers are missing only where the segment names that very hole, and a segment has all that it names.
func TestHoles(t *testing.T) {
	hole := func(after, next uint64) []binlog.Hole { return []binlog.Hole{{After: gtid(after), Next: gtid(next)}} }
	for name, c := range map[string]struct {
		holes []binlog.Hole
		seen  []uint64
		says  string
	}{
		"named":                     {hole(6, 9), []uint64{6, 9, 10}, ""},
		"it begins earlier":         {hole(5, 9), []uint64{6, 9, 10}, "are missing"},
		"it ends earlier":           {hole(6, 8), []uint64{6, 9, 10}, "are missing"},
		"not named":                 {nil, []uint64{6, 9, 10}, "are missing"},
		"its end is another one":    {hole(6, 9), []uint64{6, 9, 10, 11}, "up to 0-1-11 instead of"},
		"as many, and another end":  {append(hole(6, 9), hole(9, 11)...), []uint64{6, 9, 11}, "up to 0-1-11 instead of"},
		"one less, to the same end": {append(hole(6, 9), hole(6, 10)...), []uint64{6, 10}, "2 transactions"},
	} {
		h := binlog.Head{Number: 2, Previous: gtid(5), First: gtid(6), Last: gtid(10), Transactions: 3, Holes: c.holes}
		cut := &Cut{Base: gtid(5), Last: gtid(5), Target: binlog.Target{Latest: true}}
		err := cut.Segment(h, 2)
		for _, seq := range c.seen {
			if err == nil {
				_, err = cut.See(binlog.Transaction{GTID: gtid(seq), Time: at(10)})
			}
		}
		if err == nil {
			err = cut.End()
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeptForTheWindow: of the backups before the window the latest is kept with what follows it; without one, the
// earliest within it.
func TestKeptForTheWindow(t *testing.T) {
	s := newStore().begins(5, "").segment(10, 10).segment(20, 20).segment(30, 30).segment(40, 40)
	now := at(0).Add(time.Hour)
	window := time.Hour - 25*time.Second // from 12:00:25 on, and the clocks' slack
	for name, c := range map[string]struct {
		bases []Base
		want  []uint64
	}{
		"two before it":        {[]Base{base("b1", 10, 1), base("b2", 20, 5), base("b3", 30, 32)}, []uint64{1, 2, 3}},
		"in another order":     {[]Base{base("b2", 20, 5), base("b3", 30, 32), base("b1", 10, 1)}, []uint64{1, 2, 3}},
		"none before it":       {[]Base{base("b3", 40, 45), base("b2", 20, 28)}, []uint64{1, 2, 3}},
		"none before, turned":  {[]Base{base("b2", 20, 28), base("b3", 40, 45)}, []uint64{1, 2, 3}},
		"one of no line":       {[]Base{{ID: "b9", GTID: gtid(40), Time: at(1)}, base("b1", 10, 1)}, []uint64{1, 2}},
		"one of another chain": {[]Base{ofLine(base("b9", 40, 1), line("z", 0)), base("b1", 10, 1)}, []uint64{1, 2}},
		"none":                 {nil, nil},
	} {
		have, _, err := Prune(s.archive(), c.bases, window, now)
		if err != nil || !slices.Equal(have, c.want) {
			t.Errorf("%s: %v, %v", name, have, err)
		}
	}
}
