package policy_test

import (
	"math"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// checkUnnamed restores to a GTID with the backup that is chosen when none is named: the latest that leads there. No
// other transaction of the archive has that GTID.
func (w *world) checkUnnamed(t binlog.Target) {
	latest := slices.SortedStableFunc(slices.Values(w.backups), func(a, b backup) int { return b.Time.Compare(a.Time) })
	for _, b := range latest {
		if b.named != b.ID || policy.Before(b.Base, t) != "" {
			continue
		}
		r, err := w.choose(w.heads(), b.Base, t, w.through)
		if err != nil {
			continue
		}
		earlier, err := w.earlier(w.archive(), r.Chain, t)
		if err != nil || earlier.Number > 0 || r.Also.Known() && !w.hasty {
			return
		}
		txs, _, err := w.restore(b, t)
		if err != nil || w.of(txs) == nil { // that is of the restores with a name
			return
		}
		last := w.lastOwn(txs)
		for n, s := range w.segments {
			if i := slices.Index(s.seqs, t.GTID.Seq); i >= 0 && s.txs[i] != last {
				w.breaks("%s is the transaction %d in the segment %d, and a restore for which no backup is named ends with %d, "+
					"by %s", t, s.txs[i], n, last, b.ID)
			}
			if s.Begins && s.Last == t.GTID && s.at >= 0 && !w.beginsWith(s, last) {
				w.breaks("the segment %d begins with %s, the transaction %d, and a restore for which no backup is named ends "+
					"with %d, by %s", n, t, s.at, last, b.ID)
			}
		}
		return
	}
}

// beginsWith reports whether a transaction is one that the data end with which a chain begins with: that of its GTID,
// or one after that which has none.
func (w *world) beginsWith(s segment, id int) bool {
	for _, l := range w.lines {
		i, k := slices.Index(l.txs, s.at), slices.Index(l.txs, id)
		if l.Same(s.Line()) && i >= 0 && i <= k && w.all[id].seqno <= s.Seqno {
			return true
		}
	}
	return false
}

func init() {
	mutants["an earlier transaction of a number is not noticed"] = func(d *decisions) {
		d.earlier = func(policy.Archive, uint64, binlog.Target) (h binlog.Head, _ error) { return h, nil }
	}
	mutants["data of the transaction that a chain begins with have no more"] = func(d *decisions) {
		d.earlier = func(a policy.Archive, chain uint64, t binlog.Target) (binlog.Head, error) {
			return policy.Earlier(changed(a, func(h binlog.Head) binlog.Head {
				h.Held = math.MaxInt64
				return h
			}), chain, t)
		}
	}
	known["data of the transaction that a chain begins with have no more"] = numberless
	mutants["a node that numbers lower shows that nothing follows"] = func(d *decisions) { d.unlike = true }
	known["a node that numbers lower shows that nothing follows"] = lower
	mutants["a later transaction of a number is not noticed"] = func(d *decisions) { d.hasty = true }
	// The lost line of history has a backup, and the one after it has none.
	known["a later transaction of a number is not noticed"] = []event{{0, 0, 0}, {0, 0, 0}, {3, 0, 3}, {12, 0, 0},
		{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {3, 0, 3}, {8, 0, 0}, {17, 0, 3}, {0, 0, 0}, {3, 0, 3}, {0, 0, 0}, {3, 0, 3},
		{8, 0, 0}}
	mutants["a later chain has no transaction of the number that it begins with"] = func(d *decisions) {
		d.choose = func(heads []binlog.Head, b policy.Base, t binlog.Target, through binlog.Through) (policy.Range, error) {
			r, err := policy.Choose(heads, b, t, through)
			if !slices.ContainsFunc(heads, func(h binlog.Head) bool {
				return !h.Empty() && h.Line().Same(r.Also) && h.First.Seq <= t.GTID.Seq && t.GTID.Seq <= h.Last.Seq
			}) {
				r.Also = binlog.Line{}
			}
			return r, err
		}
	}
	known["a later chain has no transaction of the number that it begins with"] = again
	// After the recovery a node counts on from a binary log that lacks the last transactions.
	known["an earlier transaction of a number is not noticed"] = repeated
}

// lower is a schedule in which a node numbers transactions lower than the one that is followed, which lacks the last
// one in its binary log: that node's last number is the archive's, and a backup of it holds one transaction more.
var lower = []event{
	{15, 34, 41}, {14, 849, 929}, {17, 616, 292}, {5, 905, 59}, {29, 562, 355}, {24, 56, 179}, {5, 145, 977},
	{8, 349, 199}, {12, 693, 536}, {9, 255, 32}}

// numberless is a schedule in which point in time is disabled, something is written, it is enabled again, and all nodes
// count on from their binary logs. The chain begins with the transaction that the one before it ends with, and a backup
// that ends there by its number holds what was written in between.
var numberless = []event{
	{0, 1, 0}, {0, 1, 0}, {3, 0, 7}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}, {17, 2, 1}, {0, 1, 0}, {17, 2, 1}, {24, 0, 12},
	{24, 1, 12}, {24, 2, 12}, {3, 0, 7}, {12, 0, 0}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}, {8, 0, 0}}

// hidden is such a schedule in which all nodes run without a binary log behind the operator's back.
var hidden = []event{
	{0, 1, 0}, {0, 1, 0}, {3, 0, 7}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}, {17, 3, 1}, {24, 0, 12}, {24, 1, 12},
	{24, 2, 12}, {3, 0, 7}, {8, 0, 0}, {8, 0, 0}, {12, 0, 0}, {0, 1, 0}, {3, 0, 7}, {8, 0, 0}, {8, 0, 0}}

// again is a schedule in which a transaction is lost, and the next one gets its number. The archive begins anew with
// that one, of which no backup is made.
var again = []event{
	{2, 681, 333}, {1, 537, 438}, {4, 426, 278}, {22, 45, 138}, {2, 942, 773}, {2, 478, 967}, {7, 865, 30},
	{17, 81, 159}, {1, 668, 925}, {3, 722, 694}}

// repeated is a schedule in which a chain begins with a number that the one before it has, too, in the same line of
// history. A backup names that.
var repeated = []event{
	{2, 25, 438}, {2, 390, 419}, {24, 149, 23}, {3, 165, 861}, {24, 140, 803}, {3, 683, 183}, {0, 280, 152},
	{0, 979, 324}, {7, 123, 196}, {0, 651, 342}, {17, 257, 923}, {2, 508, 783}, {0, 315, 211}, {6, 681, 95},
	{12, 476, 113}, {2, 239, 981}, {13, 900, 500}, {0, 847, 399}, {7, 13, 98}}
