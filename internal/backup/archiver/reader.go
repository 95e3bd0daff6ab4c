package archiver

import (
	"context"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// reader takes the stream of one node into segments.
type reader struct {
	*archiver
	node   source
	all    []source // the nodes that serve
	stream events

	group  binlog.Grouper
	format binlog.Event
	last   binlog.GTID // the last transaction that was read to its end
	verify bool        // the next one is archived already, and is compared
	skip   bool        // the transaction that is read is not archived
	open   *spool

	mark  binlog.GTID // what the node had committed at asked
	asked time.Time
	next  time.Time // when it is asked again
	began time.Time
}

// read reads until something fails, and never returns nil.
func (r *reader) read(ctx context.Context) error {
	r.began = time.Now()
	r.next = r.began.Add(time.Duration(r.task.IntervalSeconds) * time.Second)
	for {
		if err := r.tick(ctx); err != nil {
			return err
		}
		e, err := r.stream.event(ctx, r.wait())
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if err := r.take(ctx, e); err != nil {
			return err
		}
	}
}

// wait is how long an event is waited for.
func (r *reader) wait() time.Duration {
	if !r.asked.IsZero() {
		return time.Second
	}
	return min(max(time.Until(r.next), time.Millisecond), time.Second)
}

// tick asks the node what is committed, and stores what was read when all of that is there.
func (r *reader) tick(ctx context.Context) error {
	now := time.Now()
	if r.asked.IsZero() && now.After(r.next) {
		at, err := r.node.position(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", r.node.name(), err)
		}
		r.mark, r.asked = at.last, now
	}
	if r.verify && now.Sub(r.began) > markTime {
		return fmt.Errorf("%s does not give the transaction %s: another node is tried", r.node.name(), r.last)
	}
	if r.asked.IsZero() || r.group.Open() {
		return nil
	}
	if r.mark != (binlog.GTID{}) && r.mark.Server != r.last.Server {
		return refusal{fmt.Errorf("it is at %s, and the archive at %s: the numbers begin anew", r.mark, r.last)}
	}
	if r.mark.Seq > r.last.Seq {
		if now.Sub(r.asked) > markTime {
			return fmt.Errorf("%s has committed %s and does not give it: another node is tried", r.node.name(), r.mark)
		}
		return nil
	}
	through := r.asked
	r.asked, r.next = time.Time{}, through.Add(time.Duration(r.task.IntervalSeconds)*time.Second)
	return r.flush(ctx, through.UTC())
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
		r.format = e
		return nil
	case binlog.Outside:
		return nil
	case binlog.Begin:
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

// begins looks at the GTID of the next transaction.
func (r *reader) begins(ctx context.Context, g binlog.GTID) error {
	r.skip = g.Domain != r.last.Domain || r.verify // a node's own transactions are not the cluster's
	switch {
	case r.skip && r.verify && g.Domain == r.last.Domain && g != r.last:
		return refusal{fmt.Errorf("after %s comes %s here, and %s in the archive", r.at.BeforeLast, g, r.last)}
	case r.skip:
		return nil
	case !g.Follows(r.last):
		return refusal{fmt.Errorf("after %s comes %s: the numbers begin anew", r.last, g)}
	case g.Seq > r.last.Seq+1 && !r.holes[r.last.Seq]:
		return r.hole(ctx, g)
	}
	return nil
}

// hole looks whether another node has what is missing here: a transaction that was made with sql_log_bin=0 is missing on its own node only, and
// one number is missing everywhere for each DDL statement that has failed.
func (r *reader) hole(ctx context.Context, g binlog.GTID) error {
	var useless error
	for _, other := range r.all {
		if other.name() == r.node.name() {
			continue
		}
		first, err := after(ctx, other, r.last)
		if err != nil {
			say("%s was asked for what follows %s: %v", other.name(), r.last, err)
			continue
		}
		if !first.Follows(r.last) || first.Seq >= g.Seq {
			continue
		}
		lacks := fmt.Errorf("%s lacks %s, which %s has", r.node.name(), first, other.name())
		if why := r.refused[other.name()]; why != "" {
			useless = refusal{fmt.Errorf("%w; that one does not go on either: %s", lacks, why)}
			continue
		}
		r.prefer = other.name()
		return once{lacks}
	}
	if useless != nil {
		return useless
	}
	if len(r.holes) > holesMost {
		clear(r.holes) // they are looked for again when they are read again
	}
	r.holes[r.last.Seq] = true
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
	if r.verify {
		if t.Sum != r.at.LastSum {
			return refusal{fmt.Errorf("the transaction %s is another one here than in the archive: the cluster has lost it, and gone on", t.GTID)}
		}
		r.verify = false
		r.accepted()
		return nil
	}
	r.accepted()
	h := &r.open.head
	h.Transactions++
	if h.First == (binlog.GTID{}) {
		h.First, h.FirstTime, h.LastTime = t.GTID, t.Time, t.Time
	}
	if t.Time.After(h.LastTime) {
		h.LastTime = t.Time
	}
	if t.Time.Before(h.FirstTime) {
		h.FirstTime = t.Time
	}
	h.BeforeLast, h.Last, h.LastSum = r.last, t.GTID, t.Sum
	r.last = t.GTID
	if r.open.bytes >= segmentMost {
		return r.flush(ctx, time.Time{})
	}
	return nil
}

// accepted says that the node goes on from the archive.
func (r *reader) accepted() {
	r.told.follows(r.node.name())
	if r.avoid == r.node.name() {
		r.avoid = ""
	}
}

// flush stores the transactions that were read to their end. through is a time until which these are all, the zero time for none.
func (r *reader) flush(ctx context.Context, through time.Time) error {
	if r.open != nil && r.open.head.Transactions > 0 {
		h := r.open.head
		h.Through = through
		if h.Through.IsZero() {
			h.Through = r.at.Through // no later one is sure
		}
		if err := r.upload(ctx, h, r.open); err != nil {
			return err
		}
		r.drop()
		return nil
	}
	if through.IsZero() || r.verify {
		return nil
	}
	r.accepted()
	if time.Since(r.stored) >= throughEvery { // the store that is away is found by it, too: until it has answered, nothing is told to be archived
		if err := r.store.tell(ctx, binlog.Through{Time: through, Last: r.last}); err != nil {
			return err
		}
		r.stored = time.Now()
	}
	r.told.through(through, r.last)
	return nil
}

// drop forgets what is not stored.
func (r *reader) drop() {
	if r.open != nil {
		r.open.Close()
		r.open = nil
	}
}
