package policy_test

import (
	"math"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// alter has a statement that changes tables, which may be in no binary log of the node that it was made on.
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
	mutants["a statement that changes tables is in a base if its number is"] = func(d *decisions) {
		d.choose = func(heads []binlog.Head, b policy.Base, t binlog.Target, through binlog.Through) (policy.Range, error) {
			return chosenFrom(func(h binlog.Head) binlog.Head {
				h.Unnamed = slices.DeleteFunc(slices.Clone(h.Unnamed), func(n uint64) bool { return n <= b.GTID.Seq })
				return h
			})(heads, b, t, through)
		}
	}
	// The backup's node numbers higher than the archive, which goes on with such a statement after the backup.
	known["a statement that changes tables is in a base if its number is"] = []event{{0, 1, 0}, {14, 1, 0}, {24, 1, 0},
		{0, 1, 0}, {3, 0, 7}, {12, 0, 0}, {29, 1, 1}, {30, 0, 0}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}}
	mutants["what a node has when it is asked was read"] = func(d *decisions) { d.eager = true }
	// The backup's node lacks such a statement in its binary log, which is read after the node was asked.
	known["what a node has when it is asked was read"] = []event{{0, 1, 0}, {0, 1, 0}, {3, 0, 7}, {29, 0, 0}, {12, 0, 0},
		{8, 0, 1}, {30, 0, 0}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}}
	mutants["what is not archived yet is in no backup"] = func(d *decisions) {
		d.choose = func(heads []binlog.Head, b policy.Base, t binlog.Target, through binlog.Through) (policy.Range, error) {
			if n := len(heads); n > 0 && t.GTID != (binlog.GTID{}) {
				through = binlog.Through{Segment: heads[n-1].Number, Last: heads[n-1].Last, Held: math.MaxInt64}
			}
			return policy.Choose(heads, b, t, through)
		}
	}
	mutants["seqnos that no node has shown to be Galera's show nothing"] = func(d *decisions) {
		d.choose, d.survey, d.certain = chosenFrom(shownOnly), surveyOf(shownOnly), true
	}
	known["seqnos that no node has shown to be Galera's show nothing"] = unanswered
}

// unanswered is a schedule in which a chain begins with a node that lacks the last transaction, and no node answers
// when the next segment, which has that, is stored. A backup of that node holds it.
var unanswered = []event{
	{7, 777, 551}, {0, 59, 734}, {4, 948, 591}, {5, 437, 672}, {26, 445, 282}, {0, 613, 424}, {14, 512, 293},
	{3, 578, 767}, {15, 466, 619}, {4, 345, 210}, {15, 303, 856}, {15, 659, 998}, {9, 647, 804}, {12, 35, 203}}

// shownOnly is a head without the seqnos that no node has shown to be Galera's.
func shownOnly(h binlog.Head) binlog.Head {
	if !h.Seqnos {
		h.Anchors = nil
	}
	return h
}

// allNamed is a head that does not report which transactions name no seqno.
func allNamed(h binlog.Head) binlog.Head {
	h.Unnamed = nil
	return h
}
