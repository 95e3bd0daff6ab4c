package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

func gtid(seq uint64) binlog.GTID { return binlog.GTID{Server: 1, Seq: seq} }

func at(seconds int) time.Time { return time.Date(2026, 11, 24, 12, 0, seconds, 0, time.UTC) }

func line(id string, start int64) binlog.Line {
	return binlog.Line{History: "h", ID: id, Epoch: int64(id[0] - 'a' + 1), Start: start}
}

// store is an archive that is written. Seqnos are a hundred times the number of a GTID.
type store struct {
	heads   []binlog.Head
	session string
	lines   []binlog.Line
}

func newStore() *store { return &store{session: "s", lines: []binlog.Line{line("a", 0)}} }

func (s *store) put(h binlog.Head) *store {
	h.Format, h.Number, h.Session, h.Lines, h.Seqno, h.Chain = binlog.FormatVersion, uint64(len(s.heads)+1), s.session,
		slices.Clone(s.lines), int64(100*h.Last.Seq), uint64(len(s.heads)+1)
	if n := len(s.heads); n > 0 {
		h.Before = s.heads[n-1].Checksum
		if !h.Begins {
			h.Chain, h.Previous, h.PreviousSeqno = s.heads[n-1].Chain, s.heads[n-1].Last, s.heads[n-1].Seqno
		}
	}
	if _, err := h.Encode(); err != nil {
		panic(err)
	}
	s.heads = append(s.heads, h)
	return s
}

// begins is the beginning of a chain.
func (s *store) begins(last uint64, why string) *store {
	return s.put(binlog.Head{Begins: true, Last: gtid(last), Why: why})
}

// segment has the transactions up to last, the latest of which is of a time.
func (s *store) segment(last uint64, latest int) *store {
	first := s.heads[len(s.heads)-1].Last.Seq + 1
	return s.put(binlog.Head{First: gtid(first), Last: gtid(last), FirstTime: at(latest - 9), LastTime: at(latest),
		Earliest: at(latest - 9), Bytes: 10, Transactions: int(last - first + 1)})
}

// continues goes on in a line that begins at a seqno.
func (s *store) continues(id string, start int64) *store {
	s.lines = append(s.lines, line(id, start))
	return s.put(binlog.Head{Continues: true, Last: s.heads[len(s.heads)-1].Last})
}

// another is the session, or the line, from here on.
func (s *store) another(session string, lines ...binlog.Line) *store {
	s.session, s.lines = session, lines
	return s
}

func (s *store) archive(lost ...uint64) Archive {
	a := Archive{Head: func(n uint64) (binlog.Head, error) {
		if n == 0 || n > uint64(len(s.heads)) || slices.Contains(lost, n) {
			return binlog.Head{}, errors.New("there is no such segment")
		}
		return s.heads[n-1], nil
	}}
	for _, h := range s.heads {
		if !slices.Contains(lost, h.Number) {
			a.Numbers = append(a.Numbers, h.Number)
		}
	}
	return a
}

func base(id string, seq uint64, seconds int) Base {
	return Base{ID: id, Session: "s", Line: line("a", 0), Seqno: int64(100 * seq), GTID: gtid(seq), Time: at(seconds)}
}

func ofLine(b Base, l binlog.Line) Base {
	b.Line = l
	return b
}

func TestChoose(t *testing.T) {
	archive := func() *store { return newStore().begins(5, "").segment(10, 10).segment(20, 20).segment(30, 30) }
	b1 := base("b1", 12, 15)
	through := binlog.Through{Time: at(50), Last: gtid(30), Segment: 4}
	with := func(change func(h []binlog.Head)) []binlog.Head {
		h := archive().heads
		change(h)
		return h
	}
	damaged := func(n uint64) []binlog.Head {
		return with(func(h []binlog.Head) { h[n-1] = binlog.Head{Number: n, Unreadable: "x"} })
	}
	gap := archive().begins(40, "purged").segment(50, 60).heads
	recovered := archive().another("s", line("b", 800)).begins(8, "recovered").segment(12, 60).segment(20, 70).heads
	again := archive().another("s2", line("a", 0)).begins(30, "it was disabled").segment(40, 60).heads
	onwards := archive().continues("b", 3000).segment(40, 60).heads
	for name, c := range map[string]struct {
		heads    []binlog.Head
		base     Base
		target   binlog.Target
		from, to uint64
		says     string
	}{
		"latest":                          {archive().heads, b1, binlog.Target{Latest: true}, 3, 4, ""},
		"a time within":                   {archive().heads, b1, binlog.Target{Time: at(25)}, 3, 4, ""},
		"a time in the first segment":     {archive().heads, b1, binlog.Target{Time: at(17)}, 3, 3, ""},
		"the time of the last one":        {archive().heads, b1, binlog.Target{Time: at(30)}, 3, 4, ""},
		"a time when nothing was written": {archive().heads, b1, binlog.Target{Time: at(50)}, 3, 4, ""},
		"a time that is not archived yet": {archive().heads, b1, binlog.Target{Time: at(51)}, 0, 0,
			"the archive ends before it"},
		"a transaction":         {archive().heads, b1, binlog.Target{GTID: gtid(21)}, 3, 4, ""},
		"the last of a segment": {archive().heads, b1, binlog.Target{GTID: gtid(20)}, 3, 4, ""},
		"one that is not archived": {archive().heads, b1, binlog.Target{GTID: gtid(31)}, 0, 0,
			"to 2026-11-24T12:00:50Z (0-1-30)"},
		"one of another server": {archive().heads, b1, binlog.Target{GTID: binlog.GTID{Server: 2, Seq: 21}}, 0,
			0, "the archive ends before it"},
		"the base is where it begins": {archive().heads, base("b0", 5, 5), binlog.Target{GTID: gtid(6)}, 2, 2, ""},
		"the base is older": {archive().heads, base("b0", 4, 4), binlog.Target{Latest: true}, 0, 0,
			"does not go back"},
		"the base is the latest": {archive().heads, base("b9", 30, 40), binlog.Target{Latest: true}, 4, 4, ""},
		"the base is ahead":      {archive().heads, base("b9", 35, 55), binlog.Target{Latest: true}, 4, 4, ""},
		"the base is late by another clock": {archive().heads, base("b1", 25, 5), binlog.Target{Time: at(21)}, 0, 0,
			"holds transactions of that time"},
		"and by the segment before it": {archive().heads, base("b1", 20, 5), binlog.Target{Time: at(20)}, 0, 0,
			"holds transactions of that time"},
		"nothing is archived": {nil, b1, binlog.Target{Latest: true}, 0, 0, "does not go back"},
		"a segment is missing": {slices.Delete(archive().segment(40, 40).heads, 3, 4), b1,
			binlog.Target{Latest: true}, 0, 0, "000000000004 is missing"},
		"one before it is missing": {archive().heads[1:], b1, binlog.Target{Latest: true}, 3, 4, ""},
		"a segment of another archive": {with(func(h []binlog.Head) { h[3].Before = "x" }), b1,
			binlog.Target{Latest: true}, 0, 0, "exchanged"},
		"a segment that goes on elsewhere": {with(func(h []binlog.Head) { h[3].Previous = gtid(19) }), b1,
			binlog.Target{Latest: true}, 0, 0, "goes on after 0-1-19"},
		"a gap":                           {gap, b1, binlog.Target{Latest: true}, 0, 0, "purged"},
		"a time before a gap":             {gap, b1, binlog.Target{Time: at(25)}, 3, 4, ""},
		"the last GTID before a gap":      {gap, b1, binlog.Target{GTID: gtid(30)}, 3, 4, ""},
		"and the base has it":             {gap, base("b9", 30, 40), binlog.Target{GTID: gtid(30)}, 4, 4, ""},
		"one that is in the gap":          {gap, b1, binlog.Target{GTID: gtid(31)}, 0, 0, "purged"},
		"one after a gap":                 {gap, b1, binlog.Target{GTID: gtid(45)}, 0, 0, "purged"},
		"a base after a gap":              {gap, base("b2", 45, 55), binlog.Target{Latest: true}, 6, 6, ""},
		"a lost line, latest":             {recovered, base("x", 30, 40), binlog.Target{Latest: true}, 0, 0, "recovered"},
		"a lost line, a GTID of the next": {recovered, base("x", 10, 12), binlog.Target{GTID: gtid(12)}, 3, 3, ""},
		"a lost line, a time of the next": {recovered, base("x", 30, 40), binlog.Target{Time: at(65)}, 0, 0, "recovered"},
		"the next line, with its own base": {recovered, ofLine(base("y", 10, 55), line("b", 800)),
			binlog.Target{Latest: true}, 6, 7, ""},
		"on again, with a base of before": {again, b1, binlog.Target{Latest: true}, 0, 0, "it was disabled"},
		"on again, with a base of its number": {again, base("b3", 30, 40), binlog.Target{Latest: true}, 0, 0,
			"it was disabled"},
		"a line that goes on": {onwards, b1, binlog.Target{Latest: true}, 3, 6, ""},
		"a base that the line went without": {onwards, base("b9", 31, 40), binlog.Target{Latest: true}, 0, 0,
			"without what the backup b9 has"},
		"a base of the later line": {onwards, ofLine(base("b9", 30, 40), line("b", 3000)),
			binlog.Target{Latest: true}, 6, 6, ""},
		"a base without a line": {archive().heads, ofLine(b1, binlog.Line{}), binlog.Target{Latest: true}, 0, 0,
			"does not name its line"},
		"a damaged segment after the target":  {damaged(4), b1, binlog.Target{GTID: gtid(19)}, 3, 3, ""},
		"a damaged segment right after it":    {damaged(4), b1, binlog.Target{GTID: gtid(20)}, 3, 3, ""},
		"a damaged segment before the target": {damaged(4), b1, binlog.Target{Time: at(25)}, 0, 0, "cannot be read: x"},
		"the latest, with a damaged segment":  {damaged(4), b1, binlog.Target{Latest: true}, 0, 0, "cannot be read: x"},
		"a damaged one before the base":       {damaged(2), b1, binlog.Target{Time: at(25)}, 3, 4, ""},
		"and the clock of its Job may be wrong": {damaged(2), base("b1", 12, 21), binlog.Target{Time: at(25)}, 0, 0,
			"holds transactions of that time"},
		"a fraction, and the base holds the second": {archive().heads, base("b1", 20, 15),
			binlog.Target{Time: at(20).Add(time.Millisecond)}, 0, 0, "holds transactions of that time"},
		"a fraction": {archive().heads, b1, binlog.Target{Time: at(20).Add(time.Millisecond)}, 3, 4, ""},
		"a fraction after the last one": {archive().heads, b1, binlog.Target{Time: at(50).Add(time.Millisecond)}, 0, 0,
			"2026-11-24T12:00:50.001Z cannot be restored: the archive ends before it"},
		"a base of another history": {archive().heads, ofLine(b1, binlog.Line{History: "x", ID: "a"}),
			binlog.Target{Latest: true}, 0, 0, "does not go back"},
	} {
		r, err := Choose(c.heads, c.base, c.target, through)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
			continue
		}
		if err != nil || r.From != c.from || r.To != c.to ||
			r.Sum != c.heads[slices.IndexFunc(c.heads, func(h binlog.Head) bool { return h.Number == c.to })].Checksum {
			t.Errorf("%s: %d to %d instead of %d to %d: %v", name, r.From, r.To, c.from, c.to, err)
		}
	}
}

// TestOutside: a refusal offers what is accepted, and no more: no time that the backup holds transactions of.
func TestOutside(t *testing.T) {
	whole := func() *store { return newStore().begins(5, "").segment(10, 10).segment(20, 20).segment(30, 30) }
	through := binlog.Through{Time: at(50), Last: gtid(30), Segment: 4}
	gap := whole().begins(40, "purged").segment(50, 60).heads
	for name, c := range map[string]struct {
		heads []binlog.Head
		base  Base
		says  string
	}{
		"the archive ends": {whole().heads, base("b1", 8, 7),
			"from 2026-11-24T12:00:11Z (0-1-10) to 2026-11-24T12:00:50Z (0-1-30)"},
		"a gap": {gap, base("b1", 8, 7),
			"from 2026-11-24T12:00:11Z (0-1-10) to 2026-11-24T12:00:30Z (0-1-30)"},
		"a gap right after the base's segment": {gap, base("b1", 28, 25), "from the GTID 0-1-30 to 0-1-30"},
		"a gap, and one number before it": {gap, base("b1", 18, 29),
			"from 2026-11-24T12:00:29Z (0-1-20) to 2026-11-24T12:00:30Z (0-1-30)"},
		"a gap, and the backup is late": {gap, base("b1", 18, 31), "from the GTID 0-1-20 to 0-1-30"},
		"the base is ahead":             {whole().heads, base("b9", 35, 55), "no point in time can be restored"},
	} {
		_, err := Choose(c.heads, c.base, binlog.Target{Time: at(3000)}, through)
		var o Outside
		if !errors.As(err, &o) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		for _, offered := range []binlog.Target{{Time: o.From}, {Time: o.To}, {GTID: o.First}, {GTID: o.Last}} {
			if offered == (binlog.Target{}) {
				continue
			}
			if _, err := Choose(c.heads, c.base, offered, through); err != nil || Before(c.base, offered) != "" {
				t.Errorf("%s: offers %s: %v", name, offered, err)
			}
		}
	}
}

// TestAlso: a number that two lines of history have is noticed.
func TestAlso(t *testing.T) {
	s := newStore().begins(5, "").segment(20, 20).another("s", line("b", 800)).begins(8, "recovered").segment(12, 60)
	for seq, want := range map[uint64]string{9: "b", 12: "b", 13: "", 7: ""} {
		if r, err := Choose(s.heads, base("x", 6, 6), binlog.Target{GTID: gtid(seq)}, binlog.Through{}); err != nil ||
			r.Also.ID != want {
			t.Errorf("%d: %+v, %v", seq, r, err)
		}
	}
}

// TestAlsoBegins: a later chain that begins with a number has a transaction of it, unless that is the very same one.
func TestAlsoBegins(t *testing.T) {
	for name, c := range map[string]struct {
		at     uint64
		edit   func(heads []binlog.Head)
		target uint64
		want   string
	}{
		"another transaction of the number": {20, func(h []binlog.Head) { h[1].LastSum, h[2].LastSum = "x", "y" }, 20, "b"},
		"the same one":                      {20, func(h []binlog.Head) { h[1].LastSum, h[2].LastSum = "x", "x" }, 20, ""},
		"its content is not known":          {20, func([]binlog.Head) {}, 20, "b"},
		"one within a segment":              {12, func(h []binlog.Head) { h[1].LastSum, h[2].LastSum = "x", "x" }, 12, "b"},
		"an earlier one":                    {20, func(h []binlog.Head) { h[1].LastSum, h[2].LastSum = "x", "y" }, 19, ""},
	} {
		s := newStore().begins(5, "").segment(20, 20).another("s", line("b", 800)).begins(c.at, "recovered")
		c.edit(s.heads)
		if r, err := Choose(s.heads, base("x", 6, 6), binlog.Target{GTID: gtid(c.target)}, binlog.Through{}); err != nil ||
			r.Also.ID != c.want {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestAlsoUnreadable: a segment that cannot be read names no transaction of another line.
func TestAlsoUnreadable(t *testing.T) {
	s := newStore().begins(5, "").segment(20, 20)
	heads := slices.Concat(s.heads, []binlog.Head{{Number: 3, Unreadable: "x"}})
	r, err := Choose(heads, base("x", 6, 6), binlog.Target{GTID: gtid(9)}, binlog.Through{})
	if err != nil || r.Also.Known() || r.To != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestLate: a segment after the target whose transactions name times before it is read, too, to count them.
func TestLate(t *testing.T) {
	s := newStore().begins(5, "").segment(10, 10).segment(20, 40).segment(30, 41)
	s.heads[3].Earliest = at(12)
	if r, err := Choose(s.heads, base("b", 5, 5), binlog.Target{Time: at(20)}, binlog.Through{}); err != nil || r.To != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBefore(t *testing.T) {
	b := base("b1", 12, 15)
	for name, c := range map[string]struct {
		base   Base
		target binlog.Target
		want   bool
	}{
		"its own time":        {b, binlog.Target{Time: at(15)}, true},
		"before":              {b, binlog.Target{Time: at(14)}, false},
		"its own transaction": {b, binlog.Target{GTID: gtid(12)}, true},
		"an earlier one":      {b, binlog.Target{GTID: gtid(11)}, false},
		"latest":              {b, binlog.Target{Latest: true}, true},
		"a base without a GTID": {Base{ID: "b0", Line: line("a", 0), Seqno: 1, Time: at(1)}, binlog.Target{Latest: true},
			false},
		"a base without a line": {ofLine(b, binlog.Line{}), binlog.Target{Latest: true}, false},
	} {
		if (Before(c.base, c.target) == "") != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

func TestResume(t *testing.T) {
	s := newStore().begins(5, "").segment(10, 10)
	end := s.heads[1]
	unknown := end
	unknown.Seqno = 0
	many := end
	many.Lines = slices.Repeat([]binlog.Line{line("a", 0)}, binlog.MaxLines)
	a, b, c := line("a", 0), line("b", 1000), line("c", 1200)
	for name, x := range map[string]struct {
		at      binlog.Head
		session string
		node    Node
		want    Act
		says    string
	}{
		"the same line":                {end, "s", Node{Lines: []binlog.Line{a}}, Follow, ""},
		"an empty archive":             {binlog.Head{}, "s", Node{Lines: []binlog.Line{a}}, Begin, "first"},
		"an empty archive, no line":    {binlog.Head{}, "s", Node{}, Wait, "does not report"},
		"no line":                      {end, "s", Node{}, Wait, "does not report"},
		"a line without an id":         {end, "s", Node{Lines: []binlog.Line{{History: "h"}}}, Wait, "does not report"},
		"another session":              {end, "s2", Node{Lines: []binlog.Line{a}}, Begin, "enabled again"},
		"another domain":               {end, "s", Node{Lines: []binlog.Line{a}, Domain: 7}, Refuse, "domain 7"},
		"a line that goes on":          {end, "s", Node{Lines: []binlog.Line{b, a}}, Continue, ""},
		"two lines that go on":         {end, "s", Node{Lines: []binlog.Line{c, b, a}}, Continue, ""},
		"a line without the last":      {end, "s", Node{Lines: []binlog.Line{line("b", 999), a}}, Refuse, "were lost"},
		"the first of two without it":  {end, "s", Node{Lines: []binlog.Line{c, line("b", 999), a}}, Refuse, "were lost"},
		"the second of two without it": {end, "s", Node{Lines: []binlog.Line{line("c", 999), b, a}}, Refuse, "were lost"},
		"a seqno that is not known":    {unknown, "s", Node{Lines: []binlog.Line{b, a}}, Refuse, "were lost"},
		"another history in between": {end, "s",
			Node{Lines: []binlog.Line{{History: "x", ID: "b", Epoch: 2, Start: 1000}, a}}, Refuse, "were lost"},
		"a line of marked data": {end, "s",
			Node{Lines: []binlog.Line{{History: "h", ID: "b", Epoch: 2, Start: 1000, Copied: true}, a}}, Refuse,
			"part of a statement"},
		"a line that is forgotten": {end, "s", Node{Lines: []binlog.Line{c, b}}, Refuse, "do not come from"},
		"an earlier line": {newStore().another("s", b).begins(10, "").heads[0], "s",
			Node{Lines: []binlog.Line{a}}, Wait, "later one"},
		"too many lines": {many, "s", Node{Lines: []binlog.Line{b, a}}, Begin, "more than"},
		"a later line of its own name": {end, "s", Node{Lines: []binlog.Line{{History: "x", ID: "a"}}}, Refuse,
			"do not come from"},
	} {
		v := Resume(x.at, x.session, x.node)
		if v.Act != x.want || !strings.Contains(v.Why, x.says) {
			t.Errorf("%s: %+v", name, v)
		}
		if v.Act == Continue && (len(v.Lines) != 1+slices.IndexFunc(x.node.Lines, a.Same) ||
			!v.Lines[len(v.Lines)-1].Same(x.node.Lines[0])) {
			t.Errorf("%s: %+v", name, v.Lines)
		}
	}
}
