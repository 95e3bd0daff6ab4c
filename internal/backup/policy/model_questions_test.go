package policy_test

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// numbers is the answer of a node that does not have the transaction which an archiver has read last, or not by its
// number, or does not give it any more.
func (w *world) numbers(a *archiver, n int, after binlog.GTID) (answer policy.Answer, ok bool) {
	before, sum := a.at.BeforeLast, a.at.LastSum
	switch k := len(a.read); k {
	case 0:
	case 1:
		before, sum = a.at.Last, fmt.Sprint(a.read[0].tx)
	default:
		before, sum = w.gtid(a.read[k-2]), fmt.Sprint(a.read[k-1].tx)
	}
	switch {
	case w.bynumber:
		return policy.Purged, after.Seq >= w.purgedTo(n)
	case sum == "" || !w.gives(n, before):
		return policy.Purged, false
	}
	return policy.Differs, slices.ContainsFunc(w.nodes[n].log, func(e entry) bool {
		return w.gtid(e) == after && fmt.Sprint(e.tx) == sum
	})
}

// explain asks all nodes about a hole.
func (w *world) explain(a *archiver, after, g binlog.GTID, near bool) bool {
	if w.written(a, a.node) {
		a.drop()
		return false
	}
	if a.unsure.IsZero() {
		a.unsure = w.now
	}
	var asked []policy.Asked
	for i := range w.nodes {
		one := policy.Asked{Node: fmt.Sprint(i), Answer: policy.Purged, Own: w.nodes[i].since <= w.upTo(a)}
		next, inside, ok := w.next(i, after.Seq)
		answer, same := w.numbers(a, i, after)
		switch {
		case i == a.node && near:
			one.Answer = policy.Lacks
		case i == a.node:
		case w.nodes[i].away || !ok:
			one.Answer, one.Why = policy.Unknown, "away"
		case !same:
			one.Answer = answer
		case w.gtid(next).Seq < g.Seq:
			one.Answer = policy.Has
		case inside:
			one.Answer = policy.Lacks
		}
		asked = append(asked, one)
	}
	v := w.hole(after, g, asked, w.now.Sub(a.unsure) >= maxWaits)
	switch v.Act {
	case policy.Follow:
		a.hole = &binlog.Hole{After: after, Next: g, Why: v.Why}
		return true
	case policy.Begin:
		n := a.node
		w.flush(a, false)
		a.drop()
		w.begin(a, n, v.Why)
	case policy.Refuse:
		w.flush(a, false)
		a.drop()
	}
	return false
}

// isNext asks the other nodes whether a transaction is the next one there, too.
func (w *world) isNext(a *archiver, after binlog.GTID, e entry) bool {
	if w.written(a, a.node) {
		a.drop()
		return false
	}
	if a.unsure.IsZero() {
		a.unsure = w.now
	}
	var asked []policy.Asked
	for i := range w.nodes {
		one := policy.Asked{Node: fmt.Sprint(i), Answer: policy.Has, Own: w.nodes[i].since <= w.upTo(a)}
		next, inside, ok := w.next(i, after.Seq)
		answer, same := w.numbers(a, i, after)
		switch {
		case i == a.node:
			one.Answer, one.Own = policy.Lacks, one.Own && a.sure
		case w.nodes[i].away || !ok:
			one.Answer, one.Why = policy.Unknown, "away"
		case !same:
			one.Answer = answer
		case next.tx == e.tx && next.seq == e.seq:
			one.Answer, one.Near = policy.Lacks, inside
		}
		asked = append(asked, one)
	}
	v, n := w.first(after, w.gtid(e), asked, w.now.Sub(a.unsure) >= maxWaits), a.node
	if v.Act == policy.Follow {
		return true
	}
	if v.Act != policy.Wait {
		w.flush(a, false)
		a.drop()
	}
	if v.Act == policy.Refuse {
		a.refused[n] = true
	}
	if v.Act == policy.Begin || v.Act == policy.Refuse && !w.anyLeft(a) {
		w.begin(a, n, v.Why)
	}
	return false
}

// upTo is a seqno up to which everything was archived, or read.
func (w *world) upTo(a *archiver) int64 {
	to := a.held
	for _, e := range a.read {
		to = max(to, w.all[e.tx].named())
	}
	return to
}

// describe adds to a segment what is known of its seqnos: a node is asked, unless all are away.
func (w *world) describe(a *archiver, h *binlog.Head) {
	first, last, now := int64(0), int64(0), int64(0)
	for _, e := range a.read {
		if last = max(last, w.all[e.tx].named()); first == 0 {
			first = last
		}
	}
	before := a.at.Seqno
	if len(w.synced(-1)) > 0 {
		before, now = a.at.SeqnoAtLeast(a.at.Last.Seq), w.seqno
	}
	h.Seqnos = first == 0 || first > before
	if h.PreviousHeld = a.first; h.Seqnos {
		h.Held = last
	}
	if h.Seqno = w.all[a.read[len(a.read)-1].tx].named(); h.Seqno <= a.at.Seqno {
		h.Seqno = now
	}
}

// complete reports whether nothing was committed after the last transaction that was read. It shows that the node was
// not started since it wrote that one, and another one that has a binary log of its own confirms it.
func (w *world) complete(a *archiver, own bool) bool {
	at := a.at.Last
	if k := len(a.read); k > 0 {
		at = w.gtid(a.read[k-1])
	}
	near := a.near && slices.ContainsFunc(w.nodes[a.node].log, func(e entry) bool {
		return w.gtid(e) == at && e.file == w.nodes[a.node].file
	})
	a.last = a.last || near && own || w.seqno <= w.upTo(a)
	if a.last {
		return true
	}
	if a.unsure.IsZero() {
		a.unsure = w.now
	}
	var asked []policy.Asked
	for i := range w.nodes {
		one := policy.Asked{Node: fmt.Sprint(i), Answer: policy.Lacks, Own: w.nodes[i].since <= w.upTo(a)}
		_, _, more := w.next(i, at.Seq)
		answer, same := w.numbers(a, i, at)
		switch {
		case i == a.node:
			one.Own = near || one.Own && a.sure
		case w.nodes[i].away:
			one.Answer, one.Why = policy.Unknown, "away"
		case !same:
			one.Answer = answer
		case more:
			one.Answer = policy.Has
		}
		asked = append(asked, one)
	}
	v, n := w.ends(at, asked, w.now.Sub(a.unsure) >= maxWaits), a.node
	if a.last = v.Act == policy.Follow; v.Act == policy.Begin {
		w.flush(a, false)
		a.drop()
		w.begin(a, n, v.Why)
	}
	return a.last
}

// endsWith reports whether a node's last transaction is that of a number, by its content.
func (w *world) endsWith(a *archiver, n int, at binlog.GTID) bool {
	_, _, more := w.next(n, at.Seq)
	_, same := w.numbers(a, n, at)
	return same && !more
}

// numberOn is what a node numbers a transaction that is committed now.
func (w *world) numberOn(n *node, t tx) uint64 {
	if t.foreign {
		return t.seq
	}
	return uint64(int64(t.seq) + n.ahead) //nolint:gosec // small
}

// counted is how far the last number in a node's binary log is ahead.
func (w *world) counted(n *node) int64 {
	last := int64(0)
	for _, e := range n.log {
		if !w.all[e.tx].foreign {
			last = int64(e.seq) //nolint:gosec // small
		}
	}
	return last - int64(w.seq) //nolint:gosec // small
}
