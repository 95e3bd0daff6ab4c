package policy_test

import (
	"math"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// alter has a statement that changes tables, which may be in no binary log of the node that it was made on. No schedule
// is drawn with it: a base that holds it as its last transaction, of a node which numbers lower, may look like one that
// is numbered alike, and is before it.
func (w *world) alter(e event) {
	without := -1
	if e.b%4 == 0 {
		without = e.a % 3
	}
	w.commit(w.on(e.a%3), without, false)
	w.all[len(w.all)-1].unnamed = true
}

// named is the seqno that it names.
func (t tx) named() int64 {
	if t.unnamed {
		return 0
	}
	return t.seqno
}

func init() {
	mutants["what a base holds of statements that change tables is known by number"] = func(d *decisions) {
		d.choose, d.survey = chosenFrom(allNamed), surveyOf(allNamed)
	}
	// The backup's node lacks such a statement in its binary log.
	known["what a base holds of statements that change tables is known by number"] = []event{{0, 1, 0}, {0, 1, 0},
		{3, 0, 7}, {0, 1, 0}, {29, 0, 0}, {12, 0, 0}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}}
	mutants["what is not archived yet is in no backup"] = func(d *decisions) {
		d.choose = func(heads []binlog.Head, b policy.Base, t binlog.Target, through binlog.Through) (policy.Range, error) {
			if n := len(heads); n > 0 && t.GTID != (binlog.GTID{}) {
				through = binlog.Through{Segment: heads[n-1].Number, Last: heads[n-1].Last, Held: math.MaxInt64}
			}
			return policy.Choose(heads, b, t, through)
		}
	}
	mutants["seqnos are none where the followed node does not show them"] = func(d *decisions) { d.shy = true }
	// The archive begins with a node that lacks the last transaction in its binary log, and goes on with another one.
	known["seqnos are none where the followed node does not show them"] = []event{{14, 902, 49}, {4, 615, 115},
		{2, 956, 924}, {24, 420, 395}, {6, 484, 870}, {12, 750, 309}, {4, 130, 31}, {2, 449, 807}, {8, 368, 617}}
}

// allNamed is a head that does not report which transactions name no seqno.
func allNamed(h binlog.Head) binlog.Head {
	h.Unnamed = nil
	return h
}
