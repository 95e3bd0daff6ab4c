package policy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// committed is a transaction, or a statement that changes tables, which names no seqno.
type committed struct {
	number uint64
	seqno  int64
	ddl    bool
}

// commitAlike draws what a cluster commits after a number and a seqno, whose nodes number alike. Views and failed
// certifications take seqnos, and statements that fail take a number and a seqno. until has the last seqno before each
// one, without statements that fail, and the last one of all. usual clusters do that rarely.
func commitAlike(r *rand.Rand, number uint64, seqno int64, usual bool) (log []committed, until []int64) {
	unnumbered, fails, ddl := r.IntN(90), r.IntN(20), r.IntN(100)
	if usual {
		unnumbered, fails, ddl = r.IntN(10), r.IntN(3), r.IntN(4)
	}
	for range 1 + r.IntN(200) {
		for r.IntN(100) < unnumbered {
			seqno++
		}
		until = append(until, seqno)
		for r.IntN(100) < fails {
			number, seqno = number+1, seqno+1
		}
		number, seqno = number+1, seqno+1
		log = append(log, committed{number, seqno, r.IntN(100) < ddl})
	}
	return log, append(until, seqno+r.Int64N(3))
}

// take archives some of them in a segment, and returns those after it. Now and then its seqnos are not known to be
// Galera's.
func (s *store) take(r *rand.Rand, log []committed) []committed {
	before, k := s.heads[len(s.heads)-1], 1+r.IntN(len(log))
	h, own, held := binlog.Head{Seqnos: r.IntN(20) > 0, First: gtid(log[0].number)}, int64(0), before.Held
	for i, previous := 0, before.Last.Seq; i < k; i++ {
		x := log[i]
		if x.number > previous+1 {
			h.Holes = append(h.Holes, binlog.Hole{After: gtid(previous), Next: gtid(x.number)})
		}
		if own = x.seqno; x.ddl {
			own = 0
		}
		h.AddAnchor(x.number, own)
		if h.Seqnos {
			held = max(held, own)
		}
		if previous, h.Last = x.number, gtid(x.number); len(h.Holes) == binlog.MaxHoles {
			k = i + 1
		}
	}
	h.Transactions = k
	s.put(h)
	at := &s.heads[len(s.heads)-1]
	at.PreviousSeqno, at.From, at.Held = before.Seqno, before.From, held
	switch r.IntN(4) {
	case 0, 1: // the node was asked before the first one was committed
		at.PreviousHeld = log[0].seqno - 1
	case 2:
		at.PreviousHeld = before.LastAtLeast()
	} // otherwise an earlier build has stored it
	if at.Seqno = own; own == 0 {
		at.Seqno = log[k-1].seqno // where a node is
	}
	return log[k:]
}

// full reports whether heads have the seqnos of all transactions.
func (s *store) full() bool {
	return !slices.ContainsFunc(s.heads, func(h binlog.Head) bool { return len(h.Anchors) >= 32 || len(h.Unnamed) >= 32 })
}

// leads reports whether a base has to lead to what is committed after the first k transactions. It may be refused where
// a statement that changes tables is its last one, or the next one, and seqnos without a number are next to that: such
// a statement may be one of them.
func (s *store) leads(log []committed, k int) bool {
	if !s.full() {
		return false
	}
	i, j := k-1, k
	for i >= 0 && log[i].ddl {
		i--
	}
	for j < len(log) && log[j].ddl {
		j++
	}
	return i == k-1 && j == k || i >= 0 && j < len(log) && log[j].seqno-log[i].seqno == int64(j-i)
}

// TestAlike: where all nodes number alike, every backup leads to what follows it, whatever takes seqnos without a
// number. The survey reports it, too.
func TestAlike(t *testing.T) {
	refused, seeds := map[bool]int{}, uint64(4000)
	for seed := range seeds {
		usual := seed%2 > 0
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		s := newStore().begins(10, "")
		s.heads[0].Seqno, s.heads[0].Held, s.heads[0].From = 50, 50, 50
		log, until := commitAlike(r, 10, 50, usual)
		for left := log; len(left) > 0; {
			left = s.take(r, left)
		}
		k := r.IntN(len(until))
		b := base("b1", 10, 50)
		if b.Seqno = 50; k > 0 {
			b.GTID, b.Seqno = gtid(log[k-1].number), log[k-1].seqno
		}
		b.Seqno += r.Int64N(until[k] - b.Seqno + 1)
		targets := []binlog.Target{{Latest: true}}
		for _, x := range log[k:] {
			targets = append(targets, binlog.Target{GTID: gtid(x.number)})
		}
		report, err := Survey(s.archive(), []Base{b})
		if err != nil || report.Base.ID != b.ID && s.leads(log, k) {
			t.Fatalf("seed %d: the survey reports %+v, %v", seed, report, err)
		}
		for _, target := range targets {
			_, err := Choose(s.heads, b, target, binlog.Through{})
			if (err == nil) != (report.Base.ID == b.ID) && (target.Latest || s.full()) {
				t.Fatalf("seed %d: %s: %v", seed, target, err)
			}
		}
		if report.Base.ID != b.ID {
			refused[usual]++
		}
	}
	if most := int(seeds / 200); refused[true] > most { //nolint:gosec // small
		t.Errorf("%d of %d backups of usual clusters are refused", refused[true], seeds/2)
	}
	t.Logf("of %d backups %d are refused, and %d of those of usual clusters", seeds, refused[false]+refused[true],
		refused[true])
}
