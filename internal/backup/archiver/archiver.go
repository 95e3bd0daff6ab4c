// Package archiver follows a cluster's binary log as a replica does, and stores it in encrypted segments. It keeps
// nothing itself: after any failure it goes on from what the store has.
package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/logs"
)

const (
	// retryFirst is the pause after a failure, which doubles up to maxRetry.
	retryFirst = time.Second
	maxRetry   = 15 * time.Second
	// maxHurried is how many attempts are made without a pause.
	maxHurried = 20
	// refusedTime is how long nodes that are away may still have what the others lack, before that is called a gap.
	refusedTime = 5 * time.Minute
	// maxSegment is how much of a binary log a segment holds, but for the transaction that goes beyond it.
	maxSegment = 16 << 20
	// throughEvery is how often it is stored that nothing was written.
	throughEvery = 30 * time.Second
	// markTime is how long a node may need to give what it has committed.
	markTime = time.Minute
	// confirmTime is how long a node may need to confirm its line of history; what a node gave that has ended is stored
	// all the same.
	confirmTime = 5 * time.Second
	// quietTime is how long nothing is replicated from other servers before the archive begins anew.
	quietTime = 10 * time.Minute
)

// archiver is one run of the program.
type archiver struct {
	task    task.Archive
	store   *archive
	reports *board
	// the nodes that serve, the best one first; and why others do not
	find func(ctx context.Context) (synced []source, away map[string]string, err error)

	at      place // what the store has
	loaded  bool
	refused map[string]string // why nodes do not go on from there
	since   time.Time         // when the first of them refused, after the archive has gone on last
	prefer  string            // the node that has what another one lacks
	avoid   string            // the node that has failed last
	unsure  unsure            // a hole that is not explained yet
	foreign foreign           // what was replicated from other servers
	through time.Time         // until when the archive has all; the store may know an earlier time
	stored  time.Time         // when the store was reported that
	known   time.Time         // when at was the end of the archive
	view    string            // in which nodes had committed nothing after at, "" when it is not known
	held    int64             // the seqno up to which the archive has all, 0 when it is not known
	clocks  clocks            // of the nodes that were asked last
	from    string            // the node that has given the last transaction of at, "" when it is not known
}

// unsure is the transaction before a hole that is not explained, and since when that is so.
type unsure struct {
	after binlog.GTID
	since time.Time
}

// foreign is the last transactions of other servers, and since when they are the last.
type foreign struct {
	last  string
	since time.Time
}

// Main archives until ctx ends.
func Main(ctx context.Context) error {
	var t task.Task
	if err := json.Unmarshal([]byte(os.Getenv(task.EnvTask)), &t); err != nil || t.Archive == nil {
		return fmt.Errorf("%s names nothing to archive: %w", task.EnvTask, err)
	}
	bucket, err := store.Open(ctx, t.Store)
	if err != nil {
		return err
	}
	defer func() { _ = bucket.Close() }()
	files, err := newArchive(bucket, *t.Archive)
	if err != nil {
		return err
	}
	a := &archiver{task: *t.Archive, store: files, reports: &board{now: task.Archived{Place: t.Archive.Place}},
		refused: map[string]string{}}
	a.find = a.nodes
	go newSurveyor(files, a.reports, *t.Archive).run(ctx)
	go promotions{files, a.reports, *t.Archive, store.Create}.run(ctx)
	served, done := make(chan error, 1), make(chan struct{})
	go func() { served <- a.reports.serve(ctx) }()
	go func() {
		defer close(done)
		a.run(ctx)
	}()
	select {
	case err := <-served:
		if ctx.Err() == nil {
			return err
		}
		<-done // what was read is stored first
	case <-done:
	}
	return nil
}

// run goes on after every failure, until ctx ends.
func (a *archiver) run(ctx context.Context) {
	pause, hurried := retryFirst, 0
	for {
		began := time.Now()
		err := a.session(ctx)
		if ctx.Err() != nil {
			return
		}
		say("%v", err)
		a.reports.problem(err)
		if time.Since(began) > maxRetry {
			pause = retryFirst
		}
		var at once
		if hurried++; errors.As(err, &at) && hurried < maxHurried {
			continue
		}
		hurried = 0
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, maxRetry)
	}
}

// once is a failure after which the next attempt is made at once.
type once struct{ error }

// refusal is a node that does not go on from the archive's last transaction.
type refusal struct{ error }

// Unwrap implements errors.Unwrap.
func (r refusal) Unwrap() error { return r.error }

// session follows one node as long as it can.
func (a *archiver) session(ctx context.Context) error {
	if !a.loaded {
		now := time.Now()
		at, err := a.store.load(ctx)
		if err != nil {
			return err
		}
		a.known = now
		idle, err := a.store.idle(ctx, at)
		if err != nil {
			return err
		}
		a.at, a.loaded, a.view, a.from, a.through = at, true, "", "", binlog.Later(at.Through, idle.Time)
		a.held = max(at.held(), idle.Held)
		a.reports.archived(at)
		say("the archive ends at %s, in the segment %d", at.Last, at.Number)
	}
	synced, away, err := a.find(ctx)
	if err != nil {
		return err
	}
	defer closeAll(synced)
	node := a.choose(synced)
	if node == nil {
		return a.beginAnew(ctx, synced, away)
	}
	err = a.goOn(ctx, node, around{synced, away})
	var no refusal
	var hole gap
	var ofStore storeError
	var at once
	switch {
	case errors.As(err, &no):
		if a.since.IsZero() {
			a.since = time.Now()
		}
		a.refused[node.name()] = err.Error()
		return once{fmt.Errorf("%s: %w", node.name(), err)}
	case errors.As(err, &hole):
		say("a gap: %v", err)
		return a.begin(ctx, node, synced, err.Error())
	case !errors.As(err, &ofStore) && !errors.As(err, &at) && !errors.As(err, &begun{}):
		a.avoid = node.name()
	}
	return err
}

// begun is reported when the archive has begun, or begun anew.
type begun struct{ error }

// gap is why the archive begins anew.
type gap struct{ error }

// around is all nodes: those that serve, and why others do not.
type around struct {
	synced []source
	away   map[string]string
}

// goOn follows a node.
func (a *archiver) goOn(ctx context.Context, node source, all around) error {
	clear(a.clocks)
	now, err := a.ask(ctx, node)
	if err != nil {
		return err
	}
	v := policy.Resume(a.at.Head, a.task.Session, now.Node)
	if v.Act == policy.Follow || v.Act == policy.Continue {
		if err := a.foreignTo(ctx, node, now, all); err != nil {
			return err
		}
	}
	switch v.Act {
	case policy.Begin:
		return a.begin(ctx, node, all.synced, v.Why)
	case policy.Refuse:
		return refusal{errors.New(v.Why)}
	case policy.Wait:
		return fmt.Errorf("%s: %s", node.name(), v.Why)
	case policy.Continue:
		if err := a.catchUp(ctx); err != nil {
			return err
		}
		h := binlog.Head{Continues: true, Why: "the history goes on in another line", Lines: v.Lines, Last: a.at.Last,
			BeforeLast: a.at.BeforeLast, LastSum: a.at.LastSum,
			Seqno: a.at.Seqno, LastTime: a.at.LastTime, Through: a.through}
		if err := a.upload(ctx, h, nil); err != nil {
			return err
		}
		a.view = "" // views are counted from one on in every line of history
		return once{fmt.Errorf("the archive goes on in the line of history %s", a.at.Line())}
	}
	return a.follow(ctx, node, all, now)
}

// catchUp takes over what another archiver may have stored since of where the archive ends: until when it has all. The
// next segment has no less, and its transactions are after that.
func (a *archiver) catchUp(ctx context.Context) error {
	idle, err := a.store.idle(ctx, a.at)
	if err != nil {
		return err
	}
	a.through, a.held = binlog.Later(a.through, idle.Time), max(a.held, idle.Held)
	return nil
}

// foreignTo reports what another server has written since the chain began: it is not archived. Once that has ended, the
// archive begins anew. A node with a full copy has it in its data, and not in its binary log: all nodes are asked.
func (a *archiver) foreignTo(ctx context.Context, node source, now position, all around) error {
	seen, name := now.foreign, node.name()
	for _, other := range all.synced {
		if len(policy.Foreign(a.at.Head, seen)) > 0 {
			break
		}
		if other.name() == node.name() {
			continue
		}
		if at, err := a.ask(ctx, other); err == nil { // for its clock, too
			seen, name = at.foreign, other.name()
		}
	}
	later := policy.Foreign(a.at.Head, seen)
	if len(later) == 0 {
		return nil
	}
	if last := fmt.Sprint(seen); last != a.foreign.last {
		a.foreign = foreign{last, time.Now()}
	}
	why := fmt.Sprintf(
		"%s has %v, replicated from another server under another domain than %d, which the archive does not hold",
		name, later, now.Domain)
	if time.Since(a.foreign.since) >= quietTime {
		return gap{errors.New(why)}
	}
	return fmt.Errorf("%s: stop that replication. The archive begins anew %s after the last such transaction", why,
		quietTime)
}

// choose takes the node that is preferred, otherwise the first one that has not failed last. nil when all have refused.
func (a *archiver) choose(synced []source) (best source) {
	for _, n := range synced {
		switch name := n.name(); {
		case a.refused[name] != "":
		case name == a.prefer:
			return n
		case best == nil || best.name() == a.avoid:
			best = n
		}
	}
	return best
}

// follow archives what a node gives. After days without a write, a node has the last transaction's number, and not its
// content any more. What comes next is compared with other nodes then.
func (a *archiver) follow(ctx context.Context, n source, all around, now position) error {
	err := a.followFrom(ctx, n, all, now, a.at.resume())
	var gone purged
	if errors.As(err, &gone) && a.at.verifies() {
		return a.followFrom(ctx, n, all, now, a.at.Last)
	}
	return err
}

func (a *archiver) followFrom(ctx context.Context, n source, all around, now position, from binlog.GTID) error {
	s, err := n.open(append(slices.Clone(now.others), from.String()))
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(ctx) // other nodes are asked as long as this one is followed
	defer cancel()
	defer a.reports.numbered(nil)
	r := &reader{archiver: a, node: n, all: all, at0: now, stream: s, last: a.at.Last, before: a.at.BeforeLast,
		sum: a.at.LastSum, now: now.seqno, sure: a.from == n.name(), verify: from != a.at.Last,
		numbers: newNumbers(n, all.synced)}
	defer r.drop()
	r.stood.take(r.last, now)
	say("following %s from %s", n.name(), from)
	err = r.read(ctx)
	var ofStore storeError
	if r.open != nil && (!errors.As(err, &ofStore) || ctx.Err() != nil) {
		// what is complete is stored before anything else is tried
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		err = errors.Join(err, r.flush(end, time.Time{}))
	}
	return err
}

// upload stores a segment, and goes on from it.
func (a *archiver) upload(ctx context.Context, h binlog.Head, s *spool) error {
	if time.Since(a.known) > doomedTime/2 {
		// others may have gone on, and what they stored may be removed already: its numbers are not free
		a.loaded = false
		return once{errors.New("the end of the archive is looked for again")}
	}
	h.Number, h.Format, h.Before, h.Session = a.at.Number+1, binlog.FormatVersion, a.at.Checksum, a.task.Session
	switch {
	case h.Begins:
		h.Held = h.Seqno
	case h.Continues:
		h.Held = a.held
		for _, l := range h.Lines[len(a.at.Lines):] {
			h.Held = min(h.Held, l.Start)
		}
	}
	if !h.Begins {
		h.Previous, h.PreviousSeqno, h.PreviousHeld = a.at.Last, a.at.Seqno, max(h.PreviousHeld, a.at.LastAtLeast())
		h.Chain, h.Foreign, h.From = a.at.Chain, a.at.Foreign, a.at.From
		if h.Lines == nil {
			h.Lines = a.at.Lines
		}
	}
	err := a.store.put(ctx, &h, s)
	if errors.Is(err, errTaken) {
		a.loaded = false
		return once{fmt.Errorf("the segment %d was stored by another archiver: going on from what the store has", h.Number)}
	}
	if err != nil {
		return err
	}
	a.known = time.Now()
	a.at, a.stored, a.through, a.held = place{h}, time.Now(), binlog.Later(a.through, h.Through), h.Held
	// they were about the place before
	a.refused, a.since, a.prefer, a.unsure, a.foreign = map[string]string{}, time.Time{}, "", unsure{}, foreign{}
	a.reports.archived(a.at)
	return nil
}

// out is the pod's log.
var out = logs.FromEnv(os.Stdout)

func say(format string, args ...any) { out.Logger().Info(fmt.Sprintf(format, args...)) }
