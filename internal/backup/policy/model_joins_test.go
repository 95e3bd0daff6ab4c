package policy_test

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// checkJoins: who follows the archive goes on in another chain without a loss. Where that begins, the cluster had
// nothing more than the data that the one before began with, what that one holds, and what the chain holds.
func (w *world) checkJoins() {
	heads := w.heads()
	for i := 1; i < len(heads); i++ {
		before, h := heads[i-1], heads[i]
		if policy.Break(before, h) == "" || !w.joins(before, h) {
			continue
		}
		w.say("segment %d joins %d", h.Number, before.Number)
		for _, l := range w.lines {
			at := slices.IndexFunc(l.txs, func(id int) bool { return fmt.Sprint(id) == h.LastSum })
			if !l.Same(h.Line()) || at < 0 {
				continue
			}
			for _, id := range l.txs[at+1:] {
				if seqno := w.all[id].seqno; seqno > before.From && seqno <= h.Seqno && !w.inChain(h.Chain, id) {
					w.breaks("what follows the archive goes on in the chain %d without the transaction %d", h.Chain, id)
				}
			}
		}
	}
}

// inChain reports whether a chain holds a transaction.
func (w *world) inChain(chain uint64, id int) bool {
	for _, s := range w.segments {
		if s.Chain == chain && slices.Contains(s.txs, id) {
			return true
		}
	}
	return false
}

func init() {
	mutants["what follows the archive goes on in a chain that begins where one ends"] = func(d *decisions) {
		d.joins = func(before, h binlog.Head) bool {
			before.Held = h.Seqno
			return policy.Joins(before, h)
		}
	}
	known["what follows the archive goes on in a chain that begins where one ends"] = unfollowed
}

// unfollowed is a schedule in which nodes run without a binary log behind the operator's back, and write. Nothing shows
// that nothing follows the last transaction: a chain of the same session begins with that.
var unfollowed = []event{
	{0, 403, 958}, {15, 856, 972}, {2, 746, 672}, {24, 139, 694}, {15, 277, 502}, {5, 838, 14}, {17, 947, 364},
	{4, 427, 98}, {8, 383, 900}}
