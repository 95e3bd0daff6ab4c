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
	view    int       // in which nodes had committed nothing after at, 0 when it is not known
	refused [3]bool   // nodes that do not go on from there
	alike   [3]bool   // nodes that a transaction was compared with which was made since the stream was opened
	opened  int       // how many transactions there were then
	from    int       // the node that has given the last transaction, from 1 on; 0 when it is not known
	at      binlog.Head
	through time.Time
	unsure  time.Time // since when a hole is not explained
	held    int64     // the seqno up to which the archive has all

	open  bool
	node  int
	line  binlog.Line
	near  bool // the last transaction was read in this stream
	sure  bool // the last transaction is known to be the node's of that number
	last  bool // nothing was committed after it when this stream was opened
	read  []entry
	hole  *binlog.Hole // before the next transaction
	holes []binlog.Hole
	own   binlog.GTID // the last transaction that the node had when it was asked, and what follows it is after ends
	ends  int64
	first int64 // a seqno that the first transaction that was read is after
	since archivedTimes
}

func (a *archiver) kill() { *a = archiver{} }

// drop forgets what was read.
func (a *archiver) drop() {
	a.open, a.read, a.hole, a.holes, a.own = false, nil, nil, nil, binlog.GTID{}
}

// step does the next thing of an archiver, with a node that it may choose.
func (w *world) step(i, nodeIndex int) {
	a := &w.archivers[i]
	switch {
	case !w.logging || len(w.segments) > maxBegins:
	case !a.loaded:
		all := w.listed(w.late).Numbers
		w.late = 0
		if a.loaded, a.known = true, w.now; len(all) > 0 {
			a.at = w.segments[all[len(all)-1]].Head
			a.through, a.held = binlog.Later(a.at.Through, w.idle(a.at)), a.at.Held
			if w.through.Segment == a.at.Number && w.through.Last == a.at.Last {
				a.held = max(a.held, w.through.Held)
			}
		}
	case !a.open:
		w.openStream(a, nodeIndex)
	default:
		w.readOne(a)
	}
}

func (w *world) openStream(a *archiver, n int) {
	if w.nodes[n].away || a.refused[n] {
		return
	}
	last, _ := w.position(n)
	v := w.resume(a.at, fmt.Sprint(w.session), policy.Node{Lines: w.lineage()})
	if (v.Act == policy.Follow || v.Act == policy.Continue) && w.written(a, n) {
		v = policy.Step{Act: policy.Begin, Why: "another server"}
	}
	switch v.Act {
	case policy.Begin:
		w.begin(a, n, v.Why)
		return
	case policy.Continue:
		w.catchUp(a)
		w.store(a, segment{Head: binlog.Head{Continues: true, Lines: v.Lines, Last: a.at.Last, Seqno: a.at.Seqno,
			BeforeLast: a.at.BeforeLast, LastSum: a.at.LastSum, LastTime: a.at.LastTime, Through: a.through}})
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
	near := w.gives(n, a.at.BeforeLast)
	if near && !w.same(a, n) && !w.unchecked { // it is read again, and compared
		a.refused[n] = true
		if !w.anyLeft(a) {
			w.begin(a, n, "none goes on")
		}
		return
	}
	a.open, a.node, a.line, a.near, a.alike, a.opened = true, n, w.line().Line, near, [3]bool{}, len(w.all)
	a.sure, a.last, a.own, a.ends = near || a.from == n+1, false, last, w.seqno
}

// idle is until when nothing was written after a place, as far as it is stored.
func (w *world) idle(at binlog.Head) (t time.Time) {
	if w.through.Segment == at.Number && w.through.Last == at.Last {
		t = w.through.Time
	}
	return t
}

// catchUp takes over what another archiver has stored of where the archive ends.
func (w *world) catchUp(a *archiver) {
	if idle := w.idle(a.at); !w.outdated && !idle.IsZero() {
		a.through, a.held = binlog.Later(a.through, idle), max(a.held, w.through.Held)
	}
}

// gives reports whether a node gives what follows a transaction: it has the number, and has not purged what follows.
func (w *world) gives(n int, after binlog.GTID) bool {
	return after.Seq >= w.purgedTo(n) &&
		slices.ContainsFunc(w.nodes[n].log, func(e entry) bool { return w.gtid(e) == after })
}

// same reports whether the transaction that is archived last comes next on a node.
func (w *world) same(a *archiver, n int) bool {
	for _, e := range w.nodes[n].log {
		if !w.all[e.tx].foreign && e.seq > a.at.BeforeLast.Seq {
			return w.gtid(e) == a.at.Last && fmt.Sprint(e.tx) == a.at.LastSum
		}
	}
	return false
}

// purgedTo is the last number that a node does not have any more.
func (w *world) purgedTo(n int) (seq uint64) {
	for _, e := range w.nodes[n].log[:w.nodes[n].purged] {
		if !w.all[e.tx].foreign {
			seq = e.seq
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
func (w *world) next(n int, after uint64) (next entry, near, ok bool) {
	file := -1
	for k, e := range w.nodes[n].log {
		if w.all[e.tx].foreign {
			continue
		}
		if e.seq > after {
			return e, file == e.file, true
		} else if e.seq == after && k >= w.nodes[n].purged {
			file = e.file
		}
	}
	return next, false, false
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
	next, near, ok := w.next(a.node, after.Seq)
	if !ok {
		return
	}
	g := w.gtid(next)
	near = near && (len(a.read) > 0 || a.near)
	if a.hole = nil; g.Seq > after.Seq+1 && !w.explain(a, after, g, near) {
		return
	}
	if !near && (!a.sure || a.view != w.view) && !w.isNext(a, after, next) {
		return
	}
	if a.hole != nil {
		a.holes = append(a.holes, *a.hole)
	}
	if len(a.read) == 0 {
		if a.first = 0; a.own == after {
			a.first = a.ends
		}
	}
	a.unsure, a.sure = time.Time{}, true
	a.read = append(a.read, next)
	w.sees(a)
	for i := range w.nodes {
		a.alike[i] = a.alike[i] || next.tx >= a.opened && !w.all[next.tx].unnamed &&
			slices.ContainsFunc(w.nodes[i].log, func(e entry) bool { return e.tx == next.tx })
	}
}

// begin has the archive begin, or begin anew.
func (w *world) begin(a *archiver, n int, why string) {
	last, _ := w.position(n)
	if last == (binlog.GTID{}) || !a.loaded {
		return
	}
	foreign, unknown := w.ended(domain, w.until, w.applied(), w.seen())
	if unknown != "" {
		return
	}
	h := binlog.Head{Begins: true, Why: why, Last: last, Seqno: w.seqno, Lines: w.lineage()[:1], Foreign: foreign,
		From: w.seqno}
	for i := range w.nodes {
		if there, _ := w.position(i); i != n && !w.nodes[i].away && !there.Follows(last) {
			h.Through = w.early(a, w.synced(n)...) // another node confirms it
		}
	}
	before := last
	before.Seq--
	if !w.gives(n, before) { // what it begins at cannot be read
		before = binlog.GTID{}
	}
	of := segment{Head: h, at: -1}
	for _, e := range w.nodes[n].log {
		if w.gtid(e) != last {
			continue
		}
		if of.at = e.tx; before != (binlog.GTID{}) {
			of.BeforeLast, of.LastSum = before, fmt.Sprint(e.tx)
		}
	}
	if w.store(a, of) {
		a.from = n + 1
	}
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
	if mark && w.written(a, a.node) {
		a.drop()
		return
	}
	last, _ := w.position(a.node)
	at := a.at.Last
	if len(a.read) > 0 {
		at = w.gtid(a.read[len(a.read)-1])
	}
	if (last == at || w.eager) && !w.nodes[a.node].away {
		a.own, a.ends = at, w.seqno
	}
	confirmed, compared, proved, own, by, asked := false, false, true, false, 0, []int{a.node}
	for i := range w.nodes { // another node is asked: what was made here with sql_log_bin=0 is not in the log here
		if there, _ := w.position(i); i != a.node && !w.nodes[i].away && !own {
			asked = append(asked, i)
			// Until a transaction was compared, a node that is behind may lack what this one lacks, and not show it.
			ahead := w.nodes[i].ahead - w.nodes[a.node].ahead
			if own = w.nodes[i].since <= w.upTo(a); own || !confirmed {
				compared, proved, by = a.alike[i], ahead == 0 || a.alike[i], i
			}
			if confirmed = true; a.alike[i] && !w.bynumber {
				there.Seq = uint64(int64(there.Seq) - ahead) //nolint:gosec // small
			}
			mark = mark && !there.Follows(at)
		}
	}
	mark = mark && last == at && confirmed
	if mark = mark && w.complete(a, own); !a.open {
		return
	}
	if len(a.read) == 0 && (!mark || w.segments[a.at.Number].Checksum != a.at.Checksum) {
		return
	}
	if len(a.read) == 0 {
		if compared || w.unlike || w.endsWith(a, by, at) {
			a.held = w.seqno
		}
		a.through = binlog.Later(a.through, w.early(a, asked...))
		w.through = binlog.Through{Time: a.through, Last: a.at.Last, Segment: a.at.Number, Held: a.held}
		if compared {
			a.view = w.view
		}
		if proved {
			w.mark()
		}
		return
	}
	w.catchUp(a)
	h := binlog.Head{First: w.gtid(a.read[0]), Last: at, Holes: a.holes, Transactions: len(a.read), Through: a.through,
		Times: w.times(a, asked), BeforeLast: a.at.Last}
	if mark {
		h.Through = binlog.Later(a.through, w.early(a, asked...))
	}
	if n := len(a.read); n > 1 {
		h.BeforeLast = w.gtid(a.read[n-2])
	}
	first := w.all[a.read[0].tx].raw
	latest, earliest, of := first, first, segment{}
	for _, e := range a.read {
		id := e.tx
		of.txs, of.seqs = append(of.txs, id), append(of.seqs, e.seq)
		h.AddAnchor(e.seq, w.all[id].named())
		latest = binlog.Later(latest, w.all[id].raw)
		if w.all[id].raw.Before(earliest) {
			earliest = w.all[id].raw
		}
	}
	h.FirstTime, h.LastTime, h.Earliest = h.After(time.Time{}, first), h.After(time.Time{}, latest), h.Bound(earliest)
	h.LastSum = fmt.Sprint(of.txs[len(of.txs)-1])
	w.describe(a, &h)
	of.Head, a.read, a.holes = h, nil, nil
	if w.store(a, of) {
		if a.near, a.from = true, a.node+1; mark && compared {
			a.view = w.view
		}
		if mark && proved {
			w.mark()
		}
	}
}

// store creates an object, unless there is one of its number.
func (w *world) store(a *archiver, s segment) bool {
	h := &s.Head
	h.Format, h.Number, h.Before, h.Session = binlog.FormatVersion, a.at.Number+1, a.at.Checksum, fmt.Sprint(w.session)
	own := h.Held
	switch h.Held = a.held; {
	case h.Begins:
		h.Held = h.Seqno
	case h.Continues:
		for _, l := range h.Lines[len(a.at.Lines):] {
			h.Held = min(h.Held, l.Start)
		}
	default:
		h.Held = max(h.Held, own)
	}
	if h.Begins {
		h.Chain = h.Number
	} else {
		h.Previous, h.PreviousSeqno, h.PreviousHeld = a.at.Last, a.at.Seqno, max(h.PreviousHeld, a.at.LastAtLeast())
		h.Chain, h.Foreign, h.From = a.at.Chain, a.at.Foreign, a.at.From
		if h.Lines == nil {
			h.Lines = a.at.Lines
		}
	}
	if _, taken := w.segments[h.Number]; taken && !w.overwriting || w.now.Sub(a.known) > doomedTime/2 {
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
	w.segments[h.Number], a.refused = s, [3]bool{}
	switch {
	case h.Begins:
		a.view = w.view
	case !h.Continues || !w.viewed:
		a.view = 0
	}
	a.known, a.held, a.at, a.through, a.unsure = w.now, h.Held, *h, binlog.Later(a.through, h.Through), time.Time{}
	w.say("segment %d of %s: begins %v, continues %v, %s to %s (%s)", h.Number, h.Line().ID, h.Begins, h.Continues,
		h.Start(), h.Last, h.Why)
	return true
}

// mark records that everything is archived.
func (w *world) mark() { w.marks, w.marked = append(w.marks, w.now), len(w.all) }
