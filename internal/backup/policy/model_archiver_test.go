package policy_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// archiver is a process: it loads where the archive ends, opens a node's log, reads, and stores. It may be killed
// between any two of these.
type archiver struct {
	loaded  bool
	known   time.Time // when at was the end of the archive
	at      binlog.Head
	through time.Time
	unsure  time.Time // since when a hole is not explained

	open   bool
	node   int
	line   binlog.Line
	before int  // the transaction before last, -1 when it is not known
	last   int  // the transaction that was read last, -1 for that where a chain has begun
	near   bool // last was read in this stream
	read   []int
	holes  []binlog.Hole
}

func (a *archiver) kill() { *a = archiver{} }

// drop forgets what was read.
func (a *archiver) drop() { a.open, a.read, a.holes = false, nil, nil }

// step does the next thing of an archiver, with a node that it may choose.
func (w *world) step(i, nodeIndex int) {
	a := &w.archivers[i]
	switch {
	case !w.logging || len(w.segments) > maxBegins:
	case !a.loaded:
		all := w.archive().Numbers
		if a.loaded, a.known = true, w.now; len(all) > 0 {
			a.at = w.segments[all[len(all)-1]].Head
			a.through = a.at.Through
		}
	case !a.open:
		w.openStream(a, nodeIndex)
	default:
		w.readOne(a)
	}
}

func (w *world) openStream(a *archiver, n int) {
	if w.nodes[n].away {
		return
	}
	last, foreign := w.position(n)
	v := w.resume(a.at, fmt.Sprint(w.session), policy.Node{Lines: w.lineage()})
	if (v.Act == policy.Follow || v.Act == policy.Continue) && len(w.foreign(a.at, foreign)) > 0 {
		v = policy.Step{Act: policy.Begin, Why: "another server"}
	}
	switch v.Act {
	case policy.Begin:
		w.begin(a, n, v.Why)
		return
	case policy.Continue:
		w.store(a, segment{Head: binlog.Head{Continues: true, Lines: v.Lines, Last: a.at.Last, Seqno: a.at.Seqno,
			LastTime: a.at.LastTime, Through: a.through}})
		return
	case policy.Refuse:
		w.begin(a, n, v.Why) // all nodes say the same
		return
	case policy.Wait:
		return
	}
	if a.at.Last.Seq < w.purgedTo(n) || a.at.Last.Seq > last.Seq {
		if a.at.Last.Seq < w.purgedTo(n) && w.allPurged(a.at.Last.Seq) {
			w.begin(a, n, "purged")
		}
		return
	}
	a.open, a.node, a.line, a.last, a.before, a.near = true, n, w.line().Line, -1, -1, false
	for k, e := range w.nodes[n].log {
		if w.gtid(e.tx) == a.at.Last && a.at.BeforeLast != (binlog.GTID{}) && k >= w.nodes[n].purged {
			a.last, a.near = e.tx, true // it is read again, and compared
		}
	}
}

// purgedTo is the last number that a node does not have any more.
func (w *world) purgedTo(n int) (seq uint64) {
	for _, e := range w.nodes[n].log[:w.nodes[n].purged] {
		if !w.all[e.tx].foreign {
			seq = w.all[e.tx].seq
		}
	}
	return seq
}

func (w *world) allPurged(seq uint64) bool {
	for i := range w.nodes {
		if seq >= w.purgedTo(i) {
			return false
		}
	}
	return true
}

// next is what a node gives after a number, and whether it is in the file of the one before it.
func (w *world) next(n int, after uint64) (id int, near, ok bool) {
	file := -1
	for k, e := range w.nodes[n].log {
		if w.all[e.tx].foreign {
			continue
		}
		if s := w.all[e.tx].seq; s > after {
			return e.tx, file == e.file, true
		} else if s == after && k >= w.nodes[n].purged {
			file = e.file
		}
	}
	return 0, false, false
}

// readOne takes the next transaction of a stream.
func (w *world) readOne(a *archiver) {
	if w.nodes[a.node].away {
		a.drop()
		return
	}
	after := a.at.Last
	if len(a.read) > 0 {
		after = w.gtid(a.read[len(a.read)-1])
	}
	if _, foreign := w.position(a.node); len(w.foreign(a.at, foreign)) > 0 {
		a.drop()
		return
	}
	id, near, ok := w.next(a.node, after.Seq)
	if !ok {
		return
	}
	g := w.gtid(id)
	if g.Seq > after.Seq+1 {
		if !w.explain(a, after, g, near && (len(a.read) > 0 || a.near)) {
			return
		}
	}
	a.unsure = time.Time{}
	a.read = append(a.read, id)
}

// explain asks all nodes about a hole.
func (w *world) explain(a *archiver, after, g binlog.GTID, near bool) bool {
	if a.unsure.IsZero() {
		a.unsure = w.now
	}
	var asked []policy.Asked
	for i := range w.nodes {
		one := policy.Asked{Node: fmt.Sprint(i), Answer: policy.Purged}
		id, inside, ok := w.next(i, after.Seq)
		switch {
		case i == a.node && near:
			one.Answer = policy.Lacks
		case i == a.node:
		case w.nodes[i].away || !ok:
			one.Answer, one.Why = policy.Unknown, "away"
		case after.Seq < w.purgedTo(i):
		case w.gtid(id).Seq < g.Seq:
			one.Answer = policy.Has
		case inside:
			one.Answer = policy.Lacks
		}
		asked = append(asked, one)
	}
	v := w.hole(after, g, asked, w.now.Sub(a.unsure) >= maxWaits)
	switch v.Act {
	case policy.Follow:
		a.holes = append(a.holes, binlog.Hole{After: after, Next: g, Why: v.Why})
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

// begin has the archive begin, or begin anew.
func (w *world) begin(a *archiver, n int, why string) {
	last, foreign := w.position(n)
	if last == (binlog.GTID{}) || !a.loaded {
		return
	}
	h := binlog.Head{Begins: true, Why: why, Last: last, Seqno: w.seqno, Lines: w.lineage()[:1], Foreign: foreign,
		From: w.seqno}
	for i := range w.nodes {
		if there, _ := w.position(i); i != n && !w.nodes[i].away && !there.Follows(last) {
			h.Through = w.now // another node confirms it
		}
	}
	w.store(a, segment{Head: h})
}

// flush stores what was read. With a mark, all that is committed was read.
func (w *world) flush(a *archiver, mark bool) {
	if !a.open {
		return
	}
	if w.nodes[a.node].away {
		mark = false
	} else if !a.line.Same(w.line().Line) {
		a.drop()
		return
	}
	last, _ := w.position(a.node)
	at := a.at.Last
	if len(a.read) > 0 {
		at = w.gtid(a.read[len(a.read)-1])
	}
	confirmed := false
	for i := range w.nodes { // another node is asked: what was made here with sql_log_bin=0 is not in the log here
		if there, _ := w.position(i); i != a.node && !w.nodes[i].away && !confirmed {
			confirmed = true
			mark = mark && !there.Follows(at)
		}
	}
	mark = mark && last == at && confirmed
	if len(a.read) == 0 {
		if mark && w.segments[a.at.Number].Checksum == a.at.Checksum {
			w.through = binlog.Through{Time: w.now, Last: a.at.Last, Segment: a.at.Number}
			a.through = w.now
			w.mark()
		}
		return
	}
	h := binlog.Head{First: w.gtid(a.read[0]), Last: at, Seqno: w.all[a.read[len(a.read)-1]].seqno, Holes: a.holes,
		Transactions: len(a.read), Through: a.through, Seqnos: true,
		Times: w.between(a.through, w.now, a.at.LastTime), BeforeLast: a.at.Last}
	if mark {
		h.Through = w.now
	}
	first, latest, earliest := w.all[a.read[0]].raw, w.all[a.read[0]].raw, w.all[a.read[0]].raw
	for _, id := range a.read {
		latest = binlog.Later(latest, w.all[id].raw)
		if w.all[id].raw.Before(earliest) {
			earliest = w.all[id].raw
		}
	}
	h.FirstTime, h.LastTime, h.Earliest = h.After(time.Time{}, first), h.After(time.Time{}, latest), h.Bound(earliest)
	read := slices.Clone(a.read)
	a.read, a.holes = nil, nil
	if w.store(a, segment{h, read}) {
		a.last, a.near = read[len(read)-1], true
		if mark {
			w.mark()
		}
	}
}

// store creates an object, unless there is one of its number.
func (w *world) store(a *archiver, s segment) bool {
	h := &s.Head
	h.Format, h.Number, h.Before, h.Session = binlog.FormatVersion, a.at.Number+1, a.at.Checksum, fmt.Sprint(w.session)
	if h.Begins {
		h.Chain = h.Number
	} else {
		h.Previous, h.PreviousSeqno = a.at.Last, a.at.Seqno
		h.Chain, h.Foreign, h.From = a.at.Chain, a.at.Foreign, a.at.From
		if h.Lines == nil {
			h.Lines = a.at.Lines
		}
	}
	if _, taken := w.segments[h.Number]; taken || w.now.Sub(a.known) > doomedTime/2 {
		a.kill()
		return false
	}
	if _, err := h.Encode(); err != nil {
		panic(err)
	}
	if next, exists := w.segments[h.Number+1]; exists && !w.follows(*h, next.Head) {
		a.kill() // it was stored in the place of a lost one, and is taken back
		return false
	}
	w.segments[h.Number] = s
	a.known, a.at, a.through, a.unsure = w.now, *h, binlog.Later(a.through, h.Through), time.Time{}
	w.say("segment %d of %s: begins %v, continues %v, %s to %s (%s)", h.Number, h.Line().ID, h.Begins, h.Continues,
		h.Start(), h.Last, h.Why)
	return true
}

// mark records that everything is archived.
func (w *world) mark() { w.marks, w.marked = append(w.marks, w.now), len(w.all) }
