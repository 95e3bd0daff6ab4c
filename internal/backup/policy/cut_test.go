package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// cut sees transactions of one segment, as number:second, and returns those that are applied.
func cut(t *testing.T, c *Cut, h binlog.Head, transactions ...[2]int) (applied []uint64, err error) {
	t.Helper()
	h.Transactions, h.Last = len(transactions), gtid(uint64(transactions[len(transactions)-1][0]))
	if err := c.Segment(h, h.Number); err != nil {
		t.Fatal(err)
	}
	for _, x := range transactions {
		ok, err := c.See(binlog.Transaction{GTID: gtid(uint64(x[0])), Time: at(x[1])})
		if err != nil {
			return nil, err
		}
		if ok {
			applied = append(applied, uint64(x[0]))
		}
	}
	return applied, c.End()
}

func TestCut(t *testing.T) {
	hole := []binlog.Hole{{After: gtid(13), Next: gtid(15)}}
	h := binlog.Head{Number: 2, Previous: gtid(11), Holes: hole, Times: binlog.Between(at(10), at(25), at(10))}
	log := [][2]int{{12, 10}, {13, 18}, {15, 19}, {16, 21}, {17, 19}, {18, 22}}
	for name, x := range map[string]struct {
		target  binlog.Target
		applied string
		late    int
	}{
		"a time":                             {binlog.Target{Time: at(20)}, "[13 15]", 1},
		"the second of a transaction":        {binlog.Target{Time: at(19)}, "[13]", 0},
		"a time within a second":             {binlog.Target{Time: at(19).Add(time.Millisecond)}, "[13]", 2},
		"a time after all":                   {binlog.Target{Time: at(40)}, "[13 15 16 17 18]", 0},
		"a GTID":                             {binlog.Target{GTID: gtid(15)}, "[13 15]", 0},
		"latest":                             {binlog.Target{Latest: true}, "[13 15 16 17 18]", 0},
		"a time before the first one after":  {binlog.Target{Time: at(12)}, "[]", 0},
		"a time that the base is not before": {binlog.Target{Time: at(10)}, "the backup holds", 0},
	} {
		c := &Cut{Base: gtid(12), Last: gtid(12), Target: x.target}
		applied, err := cut(t, c, h, log...)
		if err != nil && !strings.HasPrefix(err.Error(), x.applied) || err == nil && (fmt.Sprint(applied) != x.applied ||
			c.Late != x.late) {
			t.Errorf("%s: %v, %d late, %v", name, applied, c.Late, err)
		}
	}
}

// TestMicroseconds: a fraction of a second counts for transactions whose microseconds are known. One that names the
// second alone ends the restore, as do those after it; how many name a time before the target is counted.
func TestMicroseconds(t *testing.T) {
	type tx struct {
		after time.Duration // at(20)
		exact bool
	}
	known := func(micros int) tx { return tx{time.Duration(micros) * time.Microsecond, true} }
	whole := func(seconds int) tx { return tx{time.Duration(seconds) * time.Second, false} }
	for name, c := range map[string]struct {
		log     []tx
		applied string
		late    int
	}{
		"before and after":              {[]tx{known(250_000), known(499_999), known(500_000), whole(1)}, "[12 13]", 0},
		"the microsecond after":         {[]tx{known(500_000), known(500_001)}, "[]", 0},
		"a whole second":                {[]tx{whole(-1), whole(0), known(100_000)}, "[12]", 2},
		"the second after one is known": {[]tx{known(250_000), whole(0)}, "[12]", 1},
		"a later second":                {[]tx{known(250_000), whole(1)}, "[12]", 0},
	} {
		h := binlog.Head{Number: 2, Previous: gtid(11), Transactions: len(c.log), Last: gtid(11 + uint64(len(c.log))),
			Times: binlog.Between(at(10), at(30), at(10))}
		cut := &Cut{Base: gtid(11), Last: gtid(11), Target: binlog.Target{Time: at(20).Add(500 * time.Millisecond)}}
		if err := cut.Segment(h, 2); err != nil {
			t.Fatal(err)
		}
		var applied []uint64
		for i, x := range c.log {
			seq := 12 + uint64(i) //nolint:gosec // small
			ok, err := cut.See(binlog.Transaction{GTID: gtid(seq), Time: at(20).Add(x.after), Exact: x.exact})
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				applied = append(applied, seq)
			}
		}
		if fmt.Sprint(applied) != c.applied || cut.Late != c.late || cut.End() != nil {
			t.Errorf("%s: %v, %d late", name, applied, cut.Late)
		}
	}
}

// TestHeld: what was made with sql_log_bin=0 on the node that was copied is in the backup, though its GTID is before
// it. It is not applied again.
func TestHeld(t *testing.T) {
	see := func(seqnos bool, target binlog.Target) (applied []uint64, err error) {
		h := binlog.Head{Number: 2, Previous: gtid(11), Seqnos: seqnos, Transactions: 3, Last: gtid(14),
			Times: binlog.Between(at(1), at(9), time.Time{})}
		c := &Cut{Base: gtid(12), Last: gtid(12), Seqno: 1300, Target: target}
		if err := c.Segment(h, 2); err != nil {
			t.Fatal(err)
		}
		for seq := uint64(12); seq <= 14; seq++ {
			ok, err := c.See(binlog.Transaction{GTID: gtid(seq), Seqno: int64(100 * seq), Time: at(5)})
			if err != nil {
				return nil, err
			}
			if ok {
				applied = append(applied, seq)
			}
		}
		return applied, errors.Join(c.End(), c.Done(""))
	}
	for name, c := range map[string]struct {
		seqnos bool
		target binlog.Target
		want   string
	}{
		"latest":         {true, binlog.Target{Latest: true}, "[14] <nil>"},
		"its own number": {true, binlog.Target{GTID: gtid(13)}, "[] <nil>"},
		"the number before": {true, binlog.Target{GTID: gtid(12)},
			"[] the backup holds the transaction 0-1-13, which is not before the GTID 0-1-12. Begin with an earlier backup: " +
				"set bootstrapFrom.store.id, or bootstrapFrom.backup"},
		"seqnos that no node has shown to be Galera's": {false, binlog.Target{Latest: true},
			"[] the backup ends at 0-1-12 and the seqno 1300, and the transaction 0-1-13 names the seqno 1300, which no node " +
				"has shown to be Galera's: the backup's node may number transactions differently. Begin with an earlier backup: " +
				"set bootstrapFrom.store.id, or bootstrapFrom.backup"},
	} {
		applied, err := see(c.seqnos, c.target)
		if have := fmt.Sprint(applied, err); have != c.want {
			t.Errorf("%s: %s", name, have)
		}
	}
}

// TestReached: a cluster that goes on from a restored copy does not apply again what the copy held, though its GTID is
// after the base's.
func TestReached(t *testing.T) {
	for _, seqno := range []int64{0, 1200, 1300, 1400} { // none, one and two of them are held
		c := &Cut{Base: gtid(12), Last: gtid(12), Seqno: seqno, Target: binlog.Target{Latest: true}}
		h := binlog.Head{Number: 2, Previous: gtid(12), Seqnos: true, Transactions: 2, Last: gtid(14),
			Times: binlog.Between(at(1), at(9), time.Time{})}
		if err := c.Segment(h, 2); err != nil {
			t.Fatal(err)
		}
		for seq := uint64(13); seq <= 14; seq++ {
			if _, err := c.See(binlog.Transaction{GTID: gtid(seq), Seqno: int64(100 * seq), Time: at(5)}); err != nil {
				t.Fatal(err)
			}
		}
		if c.Reached() != gtid(14) {
			t.Errorf("with the seqno %d: %s, and %s was applied", seqno, c.Reached(), c.Last)
		}
	}
	if c := (&Cut{Base: gtid(12), Last: gtid(12)}); c.Reached() != gtid(12) {
		t.Errorf("without a transaction: %s", c.Reached())
	}
}

// TestHoldsMore: what was made with sql_log_bin=0 right before a backup is in its data, and may be in no later segment.
// A restore up to the transaction that its manifest names would hold it.
func TestHoldsMore(t *testing.T) {
	for target, want := range map[uint64]string{12: "the data of the backup hold the transaction 0-1-14", 13: "the data",
		14: ""} {
		h := binlog.Head{Number: 2, Previous: gtid(11)}
		c := &Cut{Base: gtid(14), Last: gtid(14), Target: binlog.Target{GTID: gtid(target)}}
		if _, err := cut(t, c, h, [2]int{12, 10}); err != nil {
			t.Fatal(err)
		}
		err := c.Done("")
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d: %v", target, err)
		}
	}
}

// TestOutlier: a transaction that names a time hours ahead moves the end no further than the archiver's clock allows.
func TestOutlier(t *testing.T) {
	h := binlog.Head{Number: 2, Previous: gtid(11), Times: binlog.Between(at(10), at(20), at(10))}
	c := &Cut{Base: gtid(11), Last: gtid(11), Target: binlog.Target{Time: at(40)}}
	if applied, err := cut(t, c, h, [2]int{12, 11}, [2]int{13, 7200}, [2]int{14, 15}); len(applied) != 3 || err != nil {
		t.Errorf("%v", applied)
	}
	c = &Cut{Base: gtid(11), Last: gtid(11), Target: binlog.Target{Time: at(20)}}
	if applied, err := cut(t, c, h, [2]int{12, 11}, [2]int{13, 7200}, [2]int{14, 15}); len(applied) != 1 || c.Late != 1 ||
		err != nil {
		t.Errorf("%v, %d late", applied, c.Late)
	}
	h.Times = binlog.Between(at(30), at(40), at(20))
	c = &Cut{Base: gtid(11), Last: gtid(11), Target: binlog.Target{Time: at(20)}}
	if applied, err := cut(t, c, h, [2]int{12, -9000}); len(applied) != 0 || err != nil {
		t.Errorf("a time long before: %v", applied)
	}
}

// TestCutRefuses: what is not the archive that was chosen is never applied with success.
func TestCutRefuses(t *testing.T) {
	s := newStore().begins(5, "").segment(7, 10).segment(9, 20)
	good := func(c *Cut, heads []binlog.Head) error {
		for i, h := range heads {
			if err := c.Segment(h, uint64(i+2)); err != nil {
				return err
			}
			for seq := h.First.Seq; seq <= h.Last.Seq; seq++ {
				if _, err := c.See(binlog.Transaction{GTID: gtid(seq), Time: at(10)}); err != nil {
					return err
				}
			}
			if err := c.End(); err != nil {
				return err
			}
		}
		return c.Done(s.heads[2].Checksum)
	}
	for name, x := range map[string]struct {
		change func(h []binlog.Head) []binlog.Head
		says   string
	}{
		"as it is": {func(h []binlog.Head) []binlog.Head { return h }, ""},
		"doubled": {func(h []binlog.Head) []binlog.Head { return []binlog.Head{h[0], h[0]} },
			"names itself"},
		"dropped":                    {func(h []binlog.Head) []binlog.Head { return h[1:] }, "names itself"},
		"exchanged under its number": {func(h []binlog.Head) []binlog.Head { h[1].Before = "x"; return h }, "exchanged"},
		"a transaction is missing": {func(h []binlog.Head) []binlog.Head { h[1].First = gtid(9); return h },
			"are missing"},
		"a transaction comes twice": {func(h []binlog.Head) []binlog.Head { h[1].First = gtid(7); return h },
			"comes after"},
		"it ends too early": {func(h []binlog.Head) []binlog.Head { h[1].Transactions = 3; return h },
			"instead of 3"},
		"the last one is another one": {func(h []binlog.Head) []binlog.Head { h[1].Checksum = "x"; return h },
			"another one than when"},
		"the rest is missing": {func(h []binlog.Head) []binlog.Head { return h[:1] }, "another one than when"},
	} {
		c := &Cut{Base: gtid(5), Last: gtid(5), Target: binlog.Target{Latest: true}}
		err := good(c, x.change(slices.Clone(s.heads[1:])))
		if (err == nil) != (x.says == "") || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := &Cut{Base: gtid(5), Last: gtid(5), Target: binlog.Target{GTID: gtid(11)}}
	if err := good(c, s.heads[1:]); err == nil || !strings.Contains(err.Error(), "has no transaction 0-1-11") {
		t.Errorf("a target that is not there: %v", err)
	}
}

// TestNumbersOfAnotherNode: a base whose node numbers transactions differently than the node that was archived is
// refused where the numbers alone would leave out a transaction that the base lacks.
func TestNumbersOfAnotherNode(t *testing.T) {
	type tx struct {
		number uint64
		seqno  int64 // 0 for a statement that changes tables
	}
	for name, c := range map[string]struct {
		base    uint64
		seqno   int64
		log     []tx
		applied string
	}{
		"the same numbers": {13, 103, []tx{{12, 102}, {13, 103}, {14, 104}}, "[14]"},
		"the same, DDL":    {13, 103, []tx{{12, 102}, {13, 0}, {14, 0}, {15, 105}}, "[14 15]"},
		"one ahead": {14, 103, []tx{{12, 102}, {13, 103}, {14, 104}},
			"the backup ends at 0-1-14 and the seqno 103"},
		"one ahead, DDL":            {14, 103, []tx{{12, 102}, {13, 103}, {14, 0}, {15, 105}}, "the backup ends at 0-1-14"},
		"one behind":                {12, 103, []tx{{12, 102}, {13, 103}, {14, 104}}, "[14]"},
		"the last one was unlogged": {12, 103, []tx{{12, 102}, {14, 104}}, "[14]"},
		"the last ones were unlogged, DDL first": {12, 104, []tx{{12, 102}, {13, 0}, {14, 104}, {15, 105}},
			"the backup holds the transaction 0-1-14, and so it does 0-1-13"},
		"the last one was unlogged DDL":     {13, 103, []tx{{12, 102}, {13, 0}, {14, 104}}, "[14]"},
		"the last one was a view, then DDL": {12, 103, []tx{{12, 102}, {13, 0}, {14, 105}}, "[13 14]"},
		"views between transactions":        {13, 120, []tx{{12, 102}, {13, 119}, {14, 121}}, "[14]"},
	} {
		h := binlog.Head{Number: 2, Previous: gtid(11), Transactions: len(c.log), Last: gtid(c.log[len(c.log)-1].number),
			Seqnos: true, Holes: []binlog.Hole{{After: gtid(12), Next: gtid(14)}}}
		cut := &Cut{Base: gtid(c.base), Seqno: c.seqno, Last: gtid(c.base), Target: binlog.Target{Latest: true}}
		if err := cut.Segment(h, h.Number); err != nil {
			t.Fatal(err)
		}
		var applied []uint64
		var refused error
		for _, x := range c.log {
			ok, err := cut.See(binlog.Transaction{GTID: gtid(x.number), Seqno: x.seqno, Time: at(20)})
			if err != nil {
				refused = err
				break
			}
			if ok {
				applied = append(applied, x.number)
			}
		}
		if refused != nil && !strings.HasPrefix(refused.Error(), c.applied) ||
			refused == nil && fmt.Sprint(applied) != c.applied {
			t.Errorf("%s: %v, %v instead of %s", name, applied, refused, c.applied)
		}
	}
}

// TestSegmentsOfAnotherNode: a base whose node numbers transactions ahead of the archive's is refused by the heads
// alone, so that an earlier one is tried. Its number is beyond the end of a segment which has a transaction that it
// lacks.
func TestSegmentsOfAnotherNode(t *testing.T) {
	heads := func(anchors ...binlog.Anchor) []binlog.Head {
		s := newStore().begins(5, "")
		for _, last := range []uint64{10, 20} {
			first := s.heads[len(s.heads)-1].Last.Seq + 1
			h := binlog.Head{First: gtid(first), Last: gtid(last), Seqnos: true, Transactions: int(last - first + 1)}
			for _, a := range anchors {
				if a.Number >= first && a.Number <= last {
					h.AddAnchor(a.Number, a.Seqno)
				}
			}
			s.put(h)
		}
		return s.heads
	}
	all := heads(binlog.Anchor{Number: 6, Seqno: 996}, binlog.Anchor{Number: 10, Seqno: 1000},
		binlog.Anchor{Number: 11, Seqno: 1901}, binlog.Anchor{Number: 15, Seqno: 1905})
	few := heads(binlog.Anchor{Number: 7, Seqno: 997})
	for name, c := range map[string]struct {
		heads []binlog.Head
		seq   uint64
		seqno int64
		from  uint64 // 0 when it is refused
	}{
		"the same numbers, at the end of a segment":     {all, 10, 1000, 3},
		"one ahead, at the end of a segment":            {all, 10, 999, 0},
		"one ahead, and only one transaction has shown": {few, 10, 999, 0},
		"one ahead within":                              {all, 15, 1904, 0},
		"the same numbers within":                       {all, 15, 1905, 3},
		"one ahead, at the beginning of a segment":      {all, 11, 1000, 0},
		"one behind": {all, 9, 1000, 2},
	} {
		b := base("b1", c.seq, 0)
		b.Seqno = c.seqno
		r, err := Choose(c.heads, b, binlog.Target{Latest: true}, binlog.Through{})
		if (err == nil) != (c.from > 0) || r.From != c.from {
			t.Errorf("%s: from %d, %v", name, r.From, err)
		}
		a := Archive{Numbers: []uint64{1, 2, 3}, Head: func(n uint64) (binlog.Head, error) { return c.heads[n-1], nil }}
		good := base("b2", 20, 50)
		report, err := Survey(a, []Base{good, b})
		if err != nil || (report.Base.ID == "b1") != (c.from > 0) || report.Base.ID == "" {
			t.Errorf("%s: the survey reports %+v, %v", name, report, err)
		}
	}
}

// TestPruneOfAnotherNode: what is before a backup that is ahead of the archive stays for an earlier one: a restore
// refuses the later one.
func TestPruneOfAnotherNode(t *testing.T) {
	s := newStore().begins(5, "")
	for last := uint64(10); last <= 30; last += 10 {
		h := binlog.Head{First: gtid(last - 9), Last: gtid(last), Seqnos: true, Transactions: 10}
		h.AddAnchor(last-9, int64(100*(last-9)))
		h.AddAnchor(last, int64(100*last))
		s.put(h)
	}
	a := Archive{Numbers: []uint64{1, 2, 3, 4}, Head: func(n uint64) (binlog.Head, error) { return s.heads[n-1], nil }}
	early, later := base("early", 8, 0), base("later", 20, 10)
	now := later.Time.Add(24 * time.Hour)
	for seqno, want := range map[int64]string{2000: "later [1 2 3]", 1999: "early [1]"} {
		later.Seqno = seqno
		out, relied, err := Prune(a, []Base{early, later}, time.Minute, now)
		if have := fmt.Sprint(relied[0].ID, " ", out); have != want || err != nil {
			t.Errorf("at the seqno %d: %s, %v", seqno, have, err)
		}
	}
}

// TestSeqnoAtLeast: the numbers of a hole are not counted, and a transaction without a seqno of its own is no anchor.
func TestSeqnoAtLeast(t *testing.T) {
	h := binlog.Head{Seqnos: true, Holes: []binlog.Hole{{After: gtid(14), Next: gtid(900)}}}
	for _, a := range []binlog.Anchor{{Number: 11, Seqno: 0}, {Number: 12, Seqno: 102}, {Number: 13, Seqno: 103},
		{Number: 14, Seqno: 109}} {
		h.AddAnchor(a.Number, a.Seqno)
	}
	if len(h.Anchors) != 2 {
		t.Errorf("%+v", h.Anchors)
	}
	for number, want := range map[uint64]int64{11: 0, 12: 102, 13: 103, 14: 109, 15: 109, 899: 109, 900: 110, 901: 111} {
		if have := h.SeqnoAtLeast(number); have != want {
			t.Errorf("%d: %d instead of %d", number, have, want)
		}
	}
	if h.Seqnos = false; h.SeqnoAtLeast(12) != 0 {
		t.Error("seqnos that are none of Galera's")
	}
}
