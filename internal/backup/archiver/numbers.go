package archiver

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// maxSeen bounds how many of the last transactions are compared with those of other nodes.
const maxSeen = 4096

// numbers compares the numbers that other nodes give to transactions with those of the node that is followed. A node
// begins to number differently when it is started, which changes the view and ends the session: one transaction of each
// node is enough, as long as it is the same.
type numbers struct {
	nodes   []*compared
	seen    []binlog.Transaction // the last ones of the node that is followed
	answers chan answer
}

// compared is another node.
type compared struct {
	source
	asking bool
	next   time.Time           // when it is asked again
	sample *binlog.Transaction // one that was read there, and not here yet
	known  bool
	number policy.Number
}

// answer is a transaction that a node has given.
type answer struct {
	from *compared
	t    binlog.Transaction
	err  error
}

func newNumbers(followed source, all []source) *numbers {
	n := &numbers{answers: make(chan answer, len(all))}
	for _, s := range all {
		if s.name() != followed.name() {
			n.nodes = append(n.nodes, &compared{source: s})
		}
	}
	return n
}

// saw notes a transaction of the node that is followed.
func (n *numbers) saw(t binlog.Transaction) {
	if t.Seqno == 0 {
		return
	}
	if len(n.seen) == maxSeen {
		n.seen = slices.Delete(n.seen, 0, maxSeen/2)
	}
	n.seen = append(n.seen, t)
}

// tick asks the nodes that are not known to number alike, and returns what is known.
func (n *numbers) tick(ctx context.Context, now time.Time, pause time.Duration) *task.Skew {
	for len(n.answers) > 0 {
		a := <-n.answers
		if a.from.asking = false; a.err == nil {
			a.from.sample = &a.t
		}
		a.from.next = now.Add(pause)
	}
	for _, c := range n.nodes {
		c.compare(n.seen)
		if c.asking || c.sample != nil || now.Before(c.next) || c.known && c.number.Ahead == 0 {
			continue
		}
		c.asking = true
		go func() {
			t, err := sample(ctx, c.source)
			n.answers <- answer{c, t, err}
		}()
	}
	return n.skew()
}

// compare looks for a node's transaction among those seen. Galera's seqno and the content name it.
func (c *compared) compare(seen []binlog.Transaction) {
	if c.sample == nil || len(seen) == 0 || seen[len(seen)-1].Seqno < c.sample.Seqno {
		return
	}
	i := slices.IndexFunc(seen, func(t binlog.Transaction) bool {
		return t.Seqno == c.sample.Seqno && t.Sum == c.sample.Sum
	})
	if i >= 0 {
		c.known = true
		c.number = policy.Number{Node: c.name(), Seqno: c.sample.Seqno, Own: seen[i].GTID.Seq, There: c.sample.GTID.Seq,
			Ahead: int64(c.sample.GTID.Seq - seen[i].GTID.Seq)} //nolint:gosec // negative for one that is behind
	}
	c.sample = nil
}

// here is the number that the node which is followed gives to a transaction of another node, as far as is known.
func (n *numbers) here(node string, g binlog.GTID) binlog.GTID {
	for _, c := range n.nodes {
		if c.name() == node && c.known {
			g.Seq = uint64(int64(g.Seq) - c.number.Ahead) //nolint:gosec // negative for one that is behind
		}
	}
	return g
}

// compared reports whether a transaction of another node was compared in this session.
func (n *numbers) compared(node string) bool {
	return slices.ContainsFunc(n.nodes, func(c *compared) bool { return c.name() == node && c.known })
}

// skew is how the numbers differ, nil while none are known to.
func (n *numbers) skew() *task.Skew {
	var known []policy.Number
	for _, c := range n.nodes {
		if c.known {
			known = append(known, c.number)
		}
	}
	why, spread, seqno := policy.Differ(known)
	if why == "" {
		return nil
	}
	return &task.Skew{Why: why, Spread: spread, Seqno: seqno, Nodes: len(known) + 1}
}

// sample reads the next transaction of a node that names its seqno.
func sample(ctx context.Context, n source) (t binlog.Transaction, err error) {
	at, err := n.position(ctx)
	if err != nil {
		return t, err
	}
	if at.last == (binlog.GTID{}) {
		return t, errors.New("its binary log is empty")
	}
	s, err := n.open(append(slices.Clone(at.others), at.last.String()))
	if err != nil {
		return t, err
	}
	defer s.Close()
	var g binlog.Grouper
	for ctx.Err() == nil {
		e, err := s.Event(ctx, time.Second)
		if err != nil {
			return t, err
		}
		if e == nil {
			continue
		}
		kind, err := g.See(e)
		if err != nil {
			return t, err
		}
		if t = g.Done(); kind == binlog.End && t.GTID.Domain == at.Domain && t.Seqno > at.seqno {
			return t, nil
		}
	}
	return t, ctx.Err()
}

// seqnos are the first and the last of a segment that its transactions name.
type seqnos struct {
	first, last int64
	astray      bool
}

func (s *seqnos) add(n int64) {
	if n == 0 {
		return
	}
	if s.first == 0 {
		s.first = n
	}
	s.astray = s.astray || n <= s.last
	s.last = n
}

// between reports whether they rise from what was there before to where a node is, 0 when none answers: they are
// Galera's then.
func (s *seqnos) between(before, node int64) bool {
	return !s.astray && (s.first == 0 || s.first > before && (node == 0 || s.last <= node))
}

// stand is where a node was when it was asked last, and a transaction with a seqno that what the node gives after it is
// after.
type stand struct {
	at    position
	after known
}

// take takes where the node is. If what was read is the last transaction that it has, what it gives next is later.
func (s *stand) take(read binlog.GTID, at position) {
	if s.at = at; at.last == read && at.before > 0 {
		s.after = known{GTID: read, seqno: at.before}
	}
}

// seqno is one that is not before the last transaction: its own, if that lies between what is known, otherwise where
// the node is; 0 when it does not answer.
func seqno(before, own, node int64) int64 {
	if own > before && (node == 0 || own <= node) {
		return own
	}
	return node
}

// describe returns the head of the transactions that were read, with what the node shows now.
func (r *reader) describe(ctx context.Context, through time.Time) (binlog.Head, error) {
	h := r.open.head
	ask, cancel := context.WithTimeout(ctx, confirmTime)
	now, err := r.archiver.ask(ask, r.node)
	cancel()
	at := now.seqno
	if err != nil {
		at = r.seqnoOfAnother(ctx)
	} else {
		if err := r.still(now); err != nil {
			return h, err
		}
		r.stood.take(r.last, now)
	}
	before := r.at.least()
	if at == 0 { // nothing shows up to where they are Galera's
		before = r.at.Seqno
	}
	h.Seqnos = r.seqnos.between(before, at)
	h.Seqno = seqno(r.at.Seqno, h.Seqno, at)
	if h.Held = r.held; h.Seqnos {
		h.Held = max(h.Held, r.seqnos.last)
	}
	h.Times = r.bounds(r.raw, time.Now())
	h.FirstTime, h.LastTime, h.Earliest = h.After(time.Time{}, r.raw.first), h.After(time.Time{}, r.raw.latest),
		h.Bound(r.raw.earliest)
	if h.Through = r.archiver.through; h.LateCeiling.IsZero() {
		h.Through = binlog.Later(h.Through, through) // without through no later one is sure
	}
	return h, nil
}

// seqnoOfAnother is that of another node in the line of history of the one that does not answer, 0 for none. That node
// may have taken all of its time, and so may each other one: all are asked.
func (r *reader) seqnoOfAnother(ctx context.Context) int64 {
	until := time.Now().Add(confirmTime)
	others := slices.DeleteFunc(slices.Clone(r.all.synced), func(n source) bool { return n.name() == r.node.name() })
	for i, other := range others {
		ask, cancel := context.WithTimeout(ctx, time.Until(until)/time.Duration(len(others)-i))
		at, err := r.archiver.ask(ask, other)
		cancel()
		if err == nil && len(at.Lines) > 0 && at.Lines[0].Same(r.at.Line()) {
			return at.seqno
		}
	}
	return 0
}
