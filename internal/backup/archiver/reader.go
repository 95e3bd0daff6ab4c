package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// reader takes the stream of one node into segments.
type reader struct {
	*archiver
	node   source
	all    around
	at0    position // where the node was when it was asked whether the archive goes on from it
	stream events

	group  binlog.Grouper
	format binlog.Event
	last   binlog.GTID // the last transaction that was read to its end
	before binlog.GTID // the one before it
	near   bool        // last was read here, and the server was not started since it wrote that
	sum    string      // of the content of last, "" when it is not known
	sure   bool        // last is known to be the transaction of that number on this node
	seqno  int64       // of last, 0 when it is not known
	hole   *binlog.Hole
	raw    rawTimes
	seqnos seqnos
	verify bool // the next one is archived already, and is compared
	skip   bool // the transaction that is read is not archived
	open   *spool

	numbers *numbers
	alone   error  // why no other node confirms what this one has
	by      source // the one that confirms it
	alike   bool   // it was compared, or there is no other one
	logged  int64  // since when that one has a binary log of its own, 0 when it is not known
	ended   bool   // nothing followed last when this node began to be followed
	now     int64  // the node's seqno at the last question, and past at the one before that
	past    int64
	stood   stand       // what the node shows of where it was
	idle    bool        // the node gives nothing now
	mark    binlog.GTID // what the node had committed at asked
	asked   time.Time
	next    time.Time // when it is asked again
	moved   time.Time // when it gave an event of a transaction
}

// read reads until something fails, and never returns nil.
func (r *reader) read(ctx context.Context) error {
	r.moved = time.Now()
	r.next = r.moved.Add(time.Duration(r.task.IntervalSeconds) * time.Second)
	for {
		if err := r.tick(ctx); err != nil {
			return err
		}
		e, err := r.stream.Event(ctx, r.wait())
		if err != nil {
			return err
		}
		if r.idle = e == nil; r.idle {
			continue
		}
		if err := r.take(ctx, e); err != nil {
			return err
		}
	}
}

// tick asks the node what is committed, and stores what was read when all of that is there.
func (r *reader) tick(ctx context.Context) error {
	now := time.Now()
	if !r.verify {
		r.reports.numbered(r.numbers.tick(ctx, now, time.Duration(r.task.IntervalSeconds)*time.Second))
	}
	if r.asked.IsZero() && (now.After(r.next) || r.reports.hurries(now)) {
		at, err := r.archiver.ask(ctx, r.node)
		if err != nil { // what was read is stored by the clocks of before
			return fmt.Errorf("%s: %w", r.node.name(), err)
		}
		r.clocks.forgetOthers(r.node)
		if err := r.still(at); err != nil {
			return err
		}
		r.past, r.now = r.now, at.seqno
		r.stood.take(r.last, at)
		r.mark, r.alone = r.confirmed(ctx, at.last)
		if errors.As(r.alone, &once{}) {
			return r.alone
		}
		if r.alone == nil {
			r.asked = now
			r.askClocks(ctx)
			r.reports.clock(r.early(now), r.judged())
		} else {
			r.next = now.Add(time.Duration(r.task.IntervalSeconds) * time.Second)
		}
	}
	// The other nodes are looked for again, but not before the archive has gone on: a transaction may be read for longer
	// than an interval, and so may a binary log be searched for where it goes on.
	if r.alone != nil && !r.group.Open() && (r.idle && !r.owes(now) || r.open != nil && r.open.head.Transactions > 0) {
		return r.alone
	}
	// One event may be read for longer than any limit: silence in a transaction is the connection's to notice.
	if r.verify && !r.group.Open() && now.Sub(r.moved) > markTime {
		return fmt.Errorf("%s does not give the transaction %s: another node is tried", r.node.name(), r.last)
	}
	if r.asked.IsZero() || r.group.Open() {
		return nil
	}
	if r.mark != (binlog.GTID{}) && r.mark.Server != r.last.Server {
		return refusal{fmt.Errorf("it is at %s, and the archive at %s: the numbers begin anew", r.mark, r.last)}
	}
	if r.mark.Seq > r.last.Seq {
		if now.Sub(binlog.Later(r.asked, r.moved)) > markTime {
			return fmt.Errorf("%s has committed %s and does not give it: another node is tried", r.node.name(), r.mark)
		}
		return nil
	}
	ended, err := r.complete(ctx)
	if err != nil || !ended && !r.idle { // it may not have read yet that the server was started
		return err
	}
	through := r.asked
	r.asked, r.next = time.Time{}, through.Add(time.Duration(r.task.IntervalSeconds)*time.Second)
	switch {
	case !ended:
		return r.flush(ctx, time.Time{})
	case r.judged().Doubt() > 0:
		return undated(ctx, r)
	}
	return r.flush(ctx, r.early(through))
}

// undated stores what was read while two halves of the clocks differ, and no time is sure. Where nothing was, the
// archive goes on all the same: an earlier problem has ended, unless it is the store's.
func undated(ctx context.Context, r *reader) error {
	idle := r.open == nil || r.open.head.Transactions == 0
	if err := r.flush(ctx, time.Time{}); err != nil || !idle {
		return err
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.accepted()
	r.reports.idle(r.last)
	return nil
}

// owes reports whether the node has committed what it has not given, and may give it yet.
func (r *reader) owes(now time.Time) bool {
	return r.mark.Seq > r.last.Seq && now.Sub(r.moved) <= markTime
}

// take archives an event.
func (r *reader) take(ctx context.Context, e binlog.Event) error {
	kind, err := r.group.See(e)
	if err != nil {
		return err
	}
	switch kind {
	case binlog.Format:
		if r.open != nil { // another server, or another version, goes on
			if err := r.flush(ctx, time.Time{}); err != nil {
				return err
			}
			r.drop()
		}
		r.format, r.near = e, r.near && !e.Starts()
		return nil
	case binlog.Outside:
		return nil
	}
	r.moved = time.Now()
	if kind == binlog.Begin {
		if err := r.begins(ctx, r.group.Done().GTID); err != nil {
			return err
		}
	}
	if !r.skip {
		if err := r.write(e); err != nil {
			return err
		}
	}
	if kind == binlog.End {
		return r.ends(ctx, r.group.Done())
	}
	return nil
}

// confirmed is the last transaction of this node, or of another one: what was made here with sql_log_bin=0 is not in
// the binary log here. Of a cluster of one node there is no other one to ask.
func (r *reader) confirmed(ctx context.Context, last binlog.GTID) (binlog.GTID, error) {
	var errs []string
	found := false
	for _, other := range r.all.synced {
		if other.name() == r.node.name() {
			continue
		}
		at, err := r.archiver.ask(ctx, other)
		if err != nil {
			errs = append(errs, other.name()+": "+err.Error())
			continue
		}
		if err := r.noOther(other.name(), at.foreign); err != nil {
			return last, err
		}
		own := at.since > 0 && at.since <= r.upTo()
		if own || !found {
			r.alike, r.logged, r.by, found = r.numbers.compared(other.name()), at.since, other, true
		}
		if g := r.numbers.here(other.name(), at.last); g.Follows(last) {
			last = g
		}
		if own { // a copy lacks what its donor does
			break
		}
	}
	if found {
		return last, nil
	}
	for name, why := range r.all.away {
		errs = append(errs, name+": "+why)
	}
	if r.alike = len(errs) == 0; r.alike {
		return last, nil
	}
	slices.Sort(errs)
	return last,
		fmt.Errorf("no other node confirms that %s has all that was committed, so that no time is called archived: %v",
			r.node.name(), errs)
}

// still refuses a node whose line of history may have changed: what was read is read again.
func (r *reader) still(now position) error {
	if later := policy.Foreign(r.at.Head, now.foreign); !now.same(r.at0) || len(later) > 0 {
		r.drop()
		return once{fmt.Errorf(
			"%s is in another view of the group, or was written to by another server: it is checked again", r.node.name())}
	}
	return nil
}

// begins checks the GTID of the next transaction.
func (r *reader) begins(ctx context.Context, g binlog.GTID) error {
	own := g.Domain == r.last.Domain
	r.skip, r.hole = !own || r.verify, nil // a node's own transactions are not the cluster's
	switch {
	case !own && r.at0.isForeign(g) && len(policy.Foreign(r.at.Head, []binlog.GTID{g})) > 0:
		return once{fmt.Errorf("%s was written to by another server: %s", r.node.name(), g)}
	case own && r.verify && g != r.last:
		return refusal{fmt.Errorf("after %s comes %s here, and %s in the archive (if gaps repeat, nodes number transactions "+
			"differently: see the runbook GaleraArchiveGap)", r.at.BeforeLast, g, r.last)}
	case r.skip:
		return nil
	case !g.Follows(r.last):
		return refusal{fmt.Errorf("after %s comes %s: the numbers begin anew", r.last, g)}
	case g.Seq > r.last.Seq+1:
		return r.explain(ctx, g)
	}
	return nil
}

func (r *reader) write(e binlog.Event) (err error) {
	if r.open == nil {
		if r.open, err = newSpool(r.store.recipients); err == nil {
			err = r.open.write(append([]byte(binlog.Magic), r.format...))
		}
		if err != nil {
			return err
		}
	}
	return r.open.write(e)
}

func (r *reader) ends(ctx context.Context, t binlog.Transaction) error {
	if t.GTID.Domain != r.last.Domain {
		return nil
	}
	first := !r.near
	r.near = true
	r.numbers.saw(t)
	if r.verify {
		if t.Sum != r.at.LastSum {
			return refusal{fmt.Errorf(
				"the transaction %s is another one here than in the archive: the cluster has lost it, and gone on", t.GTID)}
		}
		r.verify, r.sure, r.seqno = false, true, t.Seqno
		r.accepted()
		return nil
	}
	if first && (!r.sure || r.view != r.at0.view) && !r.adjoins(t.Seqno) {
		if err := r.isNext(ctx, t); err != nil {
			return err
		}
	}
	r.accepted()
	h := &r.open.head
	h.Transactions++
	if h.First == (binlog.GTID{}) {
		h.First, r.raw, r.seqnos = t.GTID, rawTimes{}, seqnos{}
		if h.PreviousHeld = r.seqno; r.stood.after.GTID == r.last {
			h.PreviousHeld = max(h.PreviousHeld, r.stood.after.seqno)
		}
	}
	r.raw.add(t.Time, r.archiver.through, time.Now())
	r.seqnos.add(t.Seqno)
	if r.hole != nil {
		h.Holes = append(h.Holes, *r.hole)
	}
	h.AddAnchor(t.GTID.Seq, t.Seqno)
	h.BeforeLast, h.Last, h.LastSum, h.Seqno = r.last, t.GTID, t.Sum, t.Seqno
	r.last, r.before, r.sum, r.seqno, r.sure = t.GTID, r.last, t.Sum, t.Seqno, true
	r.stood.take(r.last, r.stood.at)
	if r.open.bytes >= maxSegment || len(h.Holes) >= binlog.MaxHoles {
		return r.flush(ctx, time.Time{})
	}
	return nil
}

// accepted reports whether the node goes on from the archive.
func (r *reader) accepted() {
	r.reports.follows(r.node.name())
	if r.avoid == r.node.name() {
		r.avoid = ""
	}
}

// flush stores the transactions that were read to their end. through is a time until which these are all, the zero time
// for none.
func (r *reader) flush(ctx context.Context, through time.Time) error {
	if r.open != nil && r.open.head.Transactions > 0 {
		if err := r.catchUp(ctx); err != nil {
			return err
		}
		h, err := r.describe(ctx, through)
		if err != nil {
			return err
		}
		if err := r.upload(ctx, h, r.open); err != nil {
			return err
		}
		r.from = r.node.name()
		if r.view = ""; !through.IsZero() && r.alike {
			r.view = r.at0.view
		}
		if !h.LateCeiling.IsZero() { // a later question shows that it was stored before that
			r.asked = time.Time{}
		}
		r.drop()
		return nil
	}
	if through.IsZero() || r.verify {
		return nil
	}
	r.accepted()
	through = binlog.Later(r.archiver.through, through) // a time that was called archived stays so
	// what was committed by then is in what the nodes had when they were asked later
	due := time.Since(r.stored) >= throughEvery
	if r.past > r.held && (r.alike || due && confirms(ctx, r)) {
		r.held = r.past
	}
	if due {
		if err := r.stands(ctx); err != nil {
			return err
		}
		// the store that is away is found by it, too: until it has answered, nothing is asked to be archived
		if err := r.store.writeThrough(ctx, binlog.Through{Time: through, Last: r.last, Segment: r.at.Number,
			Held: r.held}); err != nil {
			return err
		}
		r.stored = time.Now()
		r.reports.through(through)
	}
	if r.archiver.through = through; r.alike {
		r.view = r.at0.view
	}
	r.reports.idle(r.last)
	return nil
}

// drop forgets what is not stored.
func (r *reader) drop() {
	if r.open != nil {
		r.open.Close()
		r.open = nil
	}
}
