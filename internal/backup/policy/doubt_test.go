package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// doubted has transactions of the time 15 to 20 by the earlier half of the clocks, and of an hour later by the other
// one. All of before 12 was archived then.
func (s *store) doubted(last uint64) *store {
	first := s.heads[len(s.heads)-1].Last.Seq + 1
	return s.put(binlog.Head{First: gtid(first), Last: gtid(last), Transactions: 1, Bytes: 10, FirstTime: at(15),
		LastTime: at(20), Earliest: at(15), Through: at(12), Times: binlog.Doubtful(at(12), at(20), at(3620), at(10))})
}

// TestDoubt: where clocks were in two halves, no restore ends at a time that some transactions may be before. A time
// that was called archived later was so by all clocks.
func TestDoubt(t *testing.T) {
	s := func() *store { return newStore().begins(5, "").segment(10, 10).doubted(20) }
	later := func(through int) *store {
		s := s().segment(30, 70)
		s.heads[3].Through = at(through)
		return s
	}
	behind := newStore().begins(5, "").segment(10, 10)
	behind.put(binlog.Head{First: gtid(11), Last: gtid(12), Transactions: 2, FirstTime: at(3615), LastTime: at(3620),
		Through: at(12), Times: binlog.Doubtful(at(12), at(3620), at(3720), at(10))})
	ended := s().begins(40, "purged").doubted(50)
	b1, held, some := base("b1", 8, 9), base("b2", 20, 25), base("b2", 15, 18)
	through := func(seconds int, segment uint64) binlog.Through {
		return binlog.Through{Time: at(seconds), Segment: segment, Last: gtid(20)}
	}
	none, elsewhere := binlog.Through{}, binlog.Through{Time: at(60), Segment: 3, Last: gtid(19)}
	sure := newStore().begins(5, "").segment(10, 50).doubted(20)
	const refused, ends = "two halves", "the archive ends before it"
	for name, c := range map[string]struct {
		store   *store
		base    Base
		target  binlog.Target
		through binlog.Through
		says    string
	}{
		"before what was archived then":               {s(), b1, binlog.Target{Time: at(12)}, none, ""},
		"after it":                                    {s(), b1, binlog.Target{Time: at(13)}, none, refused},
		"after the transactions by one half":          {s(), b1, binlog.Target{Time: at(60)}, none, refused},
		"before the other one":                        {s(), b1, binlog.Target{Time: at(3624)}, none, refused},
		"after both":                                  {s(), b1, binlog.Target{Time: at(3625)}, none, ends},
		"a time that was called archived":             {s(), b1, binlog.Target{Time: at(60)}, through(60, 3), ""},
		"before that":                                 {s(), b1, binlog.Target{Time: at(59)}, through(60, 3), refused},
		"it was called archived before":               {s(), b1, binlog.Target{Time: at(60)}, through(12, 3), refused},
		"another segment was":                         {s(), b1, binlog.Target{Time: at(60)}, through(60, 2), refused},
		"called so in a segment":                      {later(60), b1, binlog.Target{Time: at(60)}, none, ""},
		"before what a segment calls so":              {later(60), b1, binlog.Target{Time: at(59)}, none, refused},
		"a segment without a later time":              {later(12), b1, binlog.Target{Time: at(60)}, none, refused},
		"after both, and long before it":              {later(9999), b1, binlog.Target{Time: at(3700)}, none, ""},
		"after both, and nothing follows":             {s(), b1, binlog.Target{Time: at(3700)}, through(9999, 3), ""},
		"it was called archived elsewhere":            {s(), b1, binlog.Target{Time: at(60)}, elsewhere, refused},
		"a transaction is later that is not in doubt": {sure, base("b0", 5, 5), binlog.Target{Time: at(30)}, none, ""},
		"an hour later than both":                     {later(9999), b1, binlog.Target{Time: at(3624)}, none, refused},
		"the transactions are of long before":         {behind, b1, binlog.Target{Time: at(3500)}, none, ""},
		"and of about that time":                      {behind, b1, binlog.Target{Time: at(3511)}, none, refused},
		"a transaction":                               {s(), b1, binlog.Target{GTID: gtid(15)}, none, ""},
		"latest":                                      {s(), b1, binlog.Target{Latest: true}, none, ""},
		"the backup holds them":                       {s(), held, binlog.Target{Time: at(60)}, through(60, 3), ""},
		"and nothing was called archived":             {s(), held, binlog.Target{Time: at(60)}, none, ends},
		"the backup holds some":                       {s(), some, binlog.Target{Time: at(60)}, none, refused},
		"a chain after a gap": {ended, base("b4", 42, 13),
			binlog.Target{Time: at(30)}, none, refused},
		"another chain": {ended, b1, binlog.Target{Time: at(10)}, none, ""},
		"before the doubt ends, the chain is over": {ended, b1, binlog.Target{Time: at(3625)}, none, "gap"},
	} {
		_, err := Choose(c.store.heads, c.base, c.target, c.through)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Choose(s().heads, b1, binlog.Target{Time: at(30)}, through(60, 3))
	if want := "the transactions 0-1-11 to 0-1-20 were archived"; err == nil || !strings.Contains(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), "not between 2026-11-24T12:00:12Z and 2026-11-24T12:01:00Z") {
		t.Errorf("%v", err)
	}
}

// TestDoubtReported: what is reported, or offered, as recoverable is no time that is refused.
func TestDoubtReported(t *testing.T) {
	s := newStore().begins(5, "").segment(10, 10).doubted(20)
	onwards := newStore().begins(5, "").segment(10, 10).continues("b", 1000).doubted(20)
	for name, c := range map[string]struct {
		base Base
		from int
	}{
		"one within the segment of before":  {base("b1", 9, 11), 11},
		"and of about that time":            {base("b1", 9, 13), 3625},
		"a backup of before":                {base("b1", 10, 11), 11},
		"one of about that time":            {base("b1", 10, 13), 3625},
		"one that has some of them":         {base("b1", 15, 13), 3625},
		"one that is complete after that":   {base("b1", 15, 4000), 4000},
		"one that has all, of after both":   {base("b1", 20, 4000), 4000},
		"one that is long before, by hours": {base("b1", 8, 9), 10},
	} {
		r, err := Survey(s.archive(), []Base{c.base})
		if err != nil || r.From.Truncate(1e9) != at(c.from) {
			t.Errorf("%s: %s, %v", name, r.From, err)
		}
	}
	if r, err := Survey(onwards.archive(), []Base{base("b1", 9, 13)}); err != nil || r.From != at(3625) {
		t.Errorf("in another line of history: %s, %v", r.From, err)
	}
	through := binlog.Through{Time: at(60), Segment: 3, Last: gtid(20)}
	for seq, offers := range map[uint64]string{8: "12:00:11Z (0-1-10)", 15: "from the GTID 0-1-20 to 0-1-20"} {
		b := base("b1", seq, 9)
		_, err := Choose(s.heads, b, binlog.Target{Time: at(70)}, through)
		var o Outside
		if !errors.As(err, &o) || !strings.Contains(err.Error(), offers) {
			t.Errorf("%d: %v", seq, err)
		}
	}
}
