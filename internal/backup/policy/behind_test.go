package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestMayHold: a base whose node numbers transactions lower than the archive may hold a statement that changes tables
// and names no seqno, or more than a target of its own number. One that is numbered alike does not, whatever has taken
// seqnos without a number, such as views of the group.
func TestMayHold(t *testing.T) {
	type tx struct {
		number uint64
		seqno  int64 // 0 for a statement that changes tables
	}
	latest, own, next := binlog.Target{Latest: true}, binlog.Target{GTID: gtid(12)}, binlog.Target{GTID: gtid(13)}
	for name, c := range map[string]struct {
		seqno  int64 // of the base at 0-1-12
		before int64 // the first one is known to be after it
		log    []tx
		end    int64 // not before the last one
		target binlog.Target
		says   string
	}{
		"alike":                              {102, 0, []tx{{12, 102}, {13, 103}}, 103, latest, ""},
		"alike, its own number":              {102, 0, []tx{{12, 102}, {13, 103}}, 103, own, ""},
		"alike, DDL":                         {102, 0, []tx{{12, 102}, {13, 0}, {14, 104}}, 104, own, ""},
		"a view, or DDL":                     {103, 0, []tx{{12, 102}, {13, 0}, {14, 105}}, 105, own, "number 13"},
		"a view, then DDL first":             {103, 103, []tx{{13, 0}, {14, 105}}, 105, own, ""},
		"a view, or DDL first":               {103, 102, []tx{{13, 0}, {14, 105}}, 105, own, "number 13"},
		"alike, DDL first":                   {102, 102, []tx{{13, 0}, {14, 104}}, 104, own, ""},
		"alike, DDL alone":                   {102, 102, []tx{{13, 0}}, 110, own, ""},
		"views, then DDL alone":              {105, 105, []tx{{13, 0}}, 106, own, ""},
		"views, or DDL alone":                {105, 102, []tx{{13, 0}}, 106, own, "number 13"},
		"a failed one, or DDL":               {103, 0, []tx{{12, 102}, {14, 0}, {15, 105}}, 105, latest, "number 14"},
		"alike, DDL last":                    {102, 0, []tx{{12, 0}, {13, 103}}, 103, latest, ""},
		"alike, DDL last, its own number":    {102, 0, []tx{{12, 0}, {13, 103}}, 103, own, ""},
		"alike, DDL last, and nothing after": {102, 0, []tx{{12, 0}}, 102, latest, ""},
		"alike, DDL last, and DDL next":      {102, 101, []tx{{12, 0}, {13, 0}, {14, 104}}, 104, latest, ""},
		"DDL last, or a view":                {102, 0, []tx{{12, 0}, {13, 104}}, 104, latest, "lack"},
		"DDL last, or it is the archive's":   {102, 0, []tx{{12, 0}}, 103, latest, "lack"},
		"DDL last, and nothing is known":     {102, 0, []tx{{12, 0}}, 0, own, "lack"},
		"DDL last, DDL next, or a view":      {102, 101, []tx{{12, 0}, {13, 0}, {14, 105}}, 105, latest, "number 12"},
		"higher, DDL":                        {101, 0, []tx{{12, 0}, {13, 103}}, 103, latest, "lack"},
		"lower":                              {103, 0, []tx{{12, 102}, {13, 103}, {14, 104}}, 104, latest, ""},
		"lower, its own number":              {103, 0, []tx{{12, 102}, {13, 103}, {14, 104}}, 104, own, "number 13"},
		"lower, the number after":            {103, 0, []tx{{12, 102}, {13, 103}, {14, 104}}, 104, next, ""},
		"lower by two, the number after":     {104, 0, []tx{{12, 102}, {13, 103}, {14, 104}}, 104, next, "number 14"},
		"lower, DDL":                         {103, 0, []tx{{12, 102}, {13, 0}, {14, 104}}, 104, latest, "number 13"},
		"lower, DDL, its own number":         {103, 0, []tx{{12, 102}, {13, 0}, {14, 104}}, 104, own, "number 13"},
		"lower, DDL, and the one after": {104, 0, []tx{{12, 102}, {13, 0}, {14, 104}, {15, 105}}, 105, latest,
			"number 13"},
		"lower, DDL after one that names it": {104, 0, []tx{{12, 102}, {13, 103}, {14, 0}, {15, 105}}, 105, latest,
			"number 14"},
		"lower, DDL after a failed one":        {104, 0, []tx{{12, 102}, {14, 0}, {15, 105}}, 105, latest, "number 14"},
		"lower, DDL alone":                     {103, 0, []tx{{12, 102}, {13, 0}}, 103, latest, "number 13"},
		"lower, nothing but DDL":               {103, 0, []tx{{13, 0}, {14, 0}}, 104, latest, "number 13"},
		"nothing follows":                      {102, 0, []tx{{12, 102}}, 102, own, ""},
		"a view, and nothing follows":          {103, 0, []tx{{12, 102}}, 102, own, "complete up to 102"},
		"it was archived that nothing follows": {107, 0, []tx{{12, 102}}, 102, own, ""},
		"nothing follows the number after":     {102, 0, []tx{{12, 102}, {13, 103}}, 103, next, ""},
		"what it was archived up to":           {103, 103, []tx{{13, 0}, {14, 104}}, 104, latest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for split := 1; split <= len(c.log); split++ { // in one segment, or two
				s := newStore().begins(5, "").segment(11, 10)
				s.heads[0].Seqno, s.heads[1].Seqno = 90, 100
				if c.log[0].number == 13 {
					s = newStore().begins(5, "").segment(12, 10)
					s.heads[0].Seqno, s.heads[1].Seqno = 90, 102
				}
				before := c.before
				for _, log := range [][]tx{c.log[:split], c.log[split:]} {
					if len(log) == 0 {
						continue
					}
					last := s.heads[len(s.heads)-1]
					h := binlog.Head{Seqnos: true, First: gtid(log[0].number), Last: gtid(log[len(log)-1].number),
						Transactions: len(log), PreviousHeld: max(before, last.LastAtLeast())}
					before = 0
					previous := last.Last.Seq
					for _, x := range log {
						if x.number > previous+1 {
							h.Holes = append(h.Holes, binlog.Hole{After: gtid(previous), Next: gtid(x.number)})
						}
						h.AddAnchor(x.number, x.seqno)
						previous = x.number
					}
					s.put(h)
					s.heads[len(s.heads)-1].PreviousSeqno = last.Seqno
					s.heads[len(s.heads)-1].Seqno = log[len(log)-1].seqno
				}
				s.heads[len(s.heads)-1].Seqno = c.end
				b := base("b1", 12, 50)
				b.Seqno = c.seqno
				through := binlog.Through{Segment: uint64(len(s.heads)), Last: s.heads[len(s.heads)-1].Last}
				if c.seqno == 107 {
					through.Held = 107
				}
				_, err := Choose(s.heads, b, c.target, through)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%d in the first segment: %v", split, err)
				}
				if c.target != latest {
					continue
				}
				r, err := Survey(s.archive(), []Base{b})
				if err != nil || (r.Base.ID == "") != (c.says != "") || !strings.Contains(r.Unfit.Why, c.says) {
					t.Errorf("%d in the first segment: the survey reports %+v, %v", split, r, err)
				}
			}
		})
	}
}

// TestUnshown: a segment was stored while no node answered, so that nothing shows whether its seqnos are Galera's. A
// base is taken only if they fit all the same: the chain may have begun with a node that lacks the last transaction in
// its binary log, and a base of that node holds it.
func TestUnshown(t *testing.T) {
	for name, c := range map[string]struct {
		number  uint64 // of the base at the seqno 103
		anchors []binlog.Anchor
		unnamed []uint64
		before  int64 // the first one is known to be after it
		says    string
	}{
		"alike":                        {12, []binlog.Anchor{{Number: 13, Seqno: 104}}, nil, 0, ""},
		"alike, within it":             {13, []binlog.Anchor{{Number: 13, Seqno: 103}}, nil, 0, ""},
		"alike, after a view":          {13, []binlog.Anchor{{Number: 13, Seqno: 102}, {Number: 14, Seqno: 104}}, nil, 0, ""},
		"lower":                        {12, []binlog.Anchor{{Number: 13, Seqno: 103}}, nil, 0, "of the number 13 names"},
		"lower, after one of a number": {13, []binlog.Anchor{{Number: 13, Seqno: 102}}, nil, 0, "of the number 14 names"},
		"higher":                       {13, []binlog.Anchor{{Number: 13, Seqno: 104}}, nil, 0, "of the number 13 names"},
		"higher, by the last of them":  {15, []binlog.Anchor{{Number: 13, Seqno: 102}}, nil, 0, "of the number 15 names"},
		"no seqno is named":            {12, nil, []uint64{13, 14, 15}, 103, ""},
		"and the chain begins so":      {12, nil, []uint64{13, 14, 15}, 0, "of the number 13"},
		"the first one names none":     {12, []binlog.Anchor{{Number: 14, Seqno: 105}}, []uint64{13}, 103, ""},
	} {
		s := newStore().begins(12, "")
		s.heads[0].Seqno, s.heads[0].From, s.heads[0].Held = 103, 103, 103
		s.put(binlog.Head{First: gtid(13), Last: gtid(15), Transactions: 3, Anchors: c.anchors, Unnamed: c.unnamed, From: 103,
			Held: 103, PreviousHeld: c.before})
		b := base("b1", c.number, 50)
		b.Seqno = 103
		_, err := Choose(s.heads, b, binlog.Target{Latest: true}, binlog.Through{})
		r, failed := Survey(s.archive(), []Base{b})
		if failed != nil || (err != nil) != (c.says != "") || (r.Base.ID == "") != (c.says != "") ||
			err != nil && !strings.Contains(err.Error(), c.says) || !strings.Contains(r.Unfit.Why, c.says) {
			t.Errorf("%s: %v, and the survey reports %+v, %v", name, err, r, failed)
		}
	}
}

// TestHeldAfterTheEnd: a backup that holds a transaction which comes after the first one beyond the target holds that,
// too, though its own time is before the target.
func TestHeldAfterTheEnd(t *testing.T) {
	c := &Cut{Base: gtid(11), Last: gtid(11), Seqno: 1300, Target: binlog.Target{Time: at(20).Add(500 * time.Millisecond)}}
	h := binlog.Head{Number: 2, Previous: gtid(11), Seqnos: true, Transactions: 2, Last: gtid(13),
		Times: binlog.Between(at(10), at(30), at(10))}
	if err := c.Segment(h, 2); err != nil {
		t.Fatal(err)
	}
	if apply, err := c.See(binlog.Transaction{GTID: gtid(12), Time: at(20)}); apply || err != nil {
		t.Errorf("%v, %v", apply, err)
	}
	_, err := c.See(binlog.Transaction{GTID: gtid(13), Seqno: 1300, Time: at(20).Add(200 * time.Millisecond), Exact: true})
	if err == nil || !strings.HasPrefix(err.Error(), "the backup holds the transaction 0-1-13, which is not before") {
		t.Errorf("%v", err)
	}
}

// TestBeyond: what a node has reported is not before a segment, and may be after the first ones that follow.
func TestBeyond(t *testing.T) {
	named := binlog.Head{Seqnos: true, Last: gtid(12), Seqno: 200}
	named.AddAnchor(12, 102)
	for name, c := range map[string]struct {
		h     binlog.Head
		seqno int64
		want  bool
	}{
		"its last one is after the base":  {named, 101, true},
		"its last one is not":             {named, 102, false},
		"where a node was, without names": {binlog.Head{Last: gtid(12), Seqno: 102}, 101, true},
		"and not after the base":          {binlog.Head{Last: gtid(12), Seqno: 102}, 102, false},
		"what it is known to end after":   {binlog.Head{Seqnos: true, Last: gtid(12), Held: 102, From: 50}, 102, true},
		"and the base is after that":      {binlog.Head{Seqnos: true, Last: gtid(12), Held: 102, From: 50}, 103, false},
		"where the chain began":           {binlog.Head{Seqnos: true, Last: gtid(12), Held: 102, From: 102}, 102, false},
		"where a chain begins":            {binlog.Head{Begins: true, Last: gtid(12), Seqno: 102}, 101, false},
	} {
		if beyond(c.h, Base{Seqno: c.seqno}) != c.want {
			t.Errorf("%s: not %v", name, c.want)
		}
	}
}

// TestNothingYet: a chain has just begun, and nothing shows that its backup ends with its own GTID. That is no reason
// to begin with another one. A GTID that is not archived yet is just that.
func TestNothingYet(t *testing.T) {
	s := newStore().begins(10, "it is the first")
	s.heads[0].Held, s.heads[0].From = 1000, 1000
	for name, c := range map[string]struct {
		base, target uint64
		held         int64
		says         string
	}{
		"its own GTID":                      {10, 10, 1000, "Ask again once something was written"},
		"its own GTID, and nothing follows": {10, 10, 1001, ""},
		"the next one":                      {10, 11, 1000, "the archive ends before it"},
		"the one before":                    {10, 9, 1000, "Ask again once something was written"},
		"of one that is ahead":              {12, 12, 1000, "Ask again once something was written"},
		"of one that is ahead, another one": {12, 13, 1000, "the archive ends before it"},
	} {
		_, err := Choose(s.heads, base("b1", c.base, 50), binlog.Target{GTID: gtid(c.target)},
			binlog.Through{Segment: 1, Last: gtid(10), Held: c.held})
		if (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "earlier backup")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.heads[0].Held = 0 // an earlier build does not report it
	if _, err := Choose(s.heads, base("b1", 10, 50), binlog.Target{GTID: gtid(10)}, binlog.Through{}); err != nil {
		t.Error(err)
	}
}

// TestEarlierBuild: an earlier build has not stored what the first transaction of a segment is after. The segments
// before show it, also where a statement that changes tables follows the backup, or is all that they have.
func TestEarlierBuild(t *testing.T) {
	s := newStore().begins(5, "")
	s.heads[0].Seqno = 105
	for _, h := range []binlog.Head{
		{First: gtid(6), Last: gtid(10), Anchors: []binlog.Anchor{{Number: 6, Seqno: 106}}, Seqno: 110},
		{First: gtid(11), Last: gtid(11), Unnamed: []uint64{11}, Seqno: 111},
		{First: gtid(12), Last: gtid(13), Unnamed: []uint64{12}, Anchors: []binlog.Anchor{{Number: 13, Seqno: 113}},
			Seqno: 113},
	} {
		at := h.Seqno
		h.Seqnos, h.Transactions = true, int(h.Last.Seq-h.First.Seq+1)
		before := s.heads[len(s.heads)-1].Seqno
		s.put(h)
		s.heads[len(s.heads)-1].Seqno, s.heads[len(s.heads)-1].PreviousSeqno = at, before
	}
	for number, seqno := range map[uint64]int64{10: 110, 11: 111} {
		b := base("b1", number, 50)
		b.Seqno = seqno
		_, err := Choose(s.heads, b, binlog.Target{Latest: true}, binlog.Through{})
		r, failed := Survey(s.archive(), []Base{b})
		if err != nil || failed != nil || r.Base.ID != b.ID {
			t.Errorf("%d: %v, and the survey reports %+v, %v", number, err, r, failed)
		}
	}
}

// TestOfferAfterTables: where statements that change tables alone follow a backup, a refusal offers what can be
// restored.
func TestOfferAfterTables(t *testing.T) {
	s := newStore().begins(10, "it is the first")
	s.heads[0].Held, s.heads[0].From = 1000, 1000
	h := binlog.Head{First: gtid(11), Last: gtid(12), Transactions: 2, Seqnos: true, FirstTime: at(60), LastTime: at(70),
		Earliest: at(60), PreviousHeld: 1001}
	h.AddAnchor(11, 0)
	h.AddAnchor(12, 0)
	s.put(h)
	s.heads[1].Held = 1000
	for _, seqno := range []int64{1000, 1001} { // a view was after its last transaction
		b := base("b1", 10, 50)
		b.Seqno = seqno
		for _, target := range []binlog.Target{{GTID: gtid(13)}, {Time: at(99)}} {
			_, err := Choose(s.heads, b, target, binlog.Through{})
			if err == nil || !strings.Contains(err.Error(), "(0-1-12)") && !strings.Contains(err.Error(), "to 0-1-12") {
				t.Errorf("%d, %s: %v", seqno, target, err)
			}
		}
	}
}
