// Package archiver follows a cluster's binary log as a replica does, and stores it in encrypted segments. It keeps nothing itself: after any
// failure it goes on from what the store has.
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
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/logs"
)

const (
	// retryFirst is the pause after a failure, which doubles up to retryMost.
	retryFirst = time.Second
	retryMost  = 15 * time.Second
	// refusedTime is how long nodes that are away may still have what the others lack, before that is called a gap.
	refusedTime = 5 * time.Minute
	// segmentMost is how much of a binary log a segment holds, but for the transaction that goes beyond it.
	segmentMost = 16 << 20
	// throughEvery is how often the store is told that nothing was written.
	throughEvery = time.Minute
	// markTime is how long a node may need to give what it has committed.
	markTime = time.Minute
	// holesMost bounds how many numbers are remembered that are missing everywhere.
	holesMost = 10000
)

// archiver is one run of the program.
type archiver struct {
	task  task.Archive
	store *archive
	told  *board
	find  func(ctx context.Context) (synced []source, away int, err error) // the nodes that serve, the best one first

	at      place // what the store has
	loaded  bool
	refused map[string]string // why nodes do not go on from there
	since   time.Time         // when the first of them refused, after the archive has gone on last
	prefer  string            // the node that has what another one lacks
	avoid   string            // the node that has failed last
	holes   map[uint64]bool   // numbers after which some are missing on every node
	stored  time.Time         // when the store was told last how far the archive is
	pruned  time.Time         // when segments were removed last; the survey's own
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
	a := &archiver{task: *t.Archive, store: files, told: &board{}, refused: map[string]string{}, holes: map[uint64]bool{}}
	a.find = a.nodes
	go a.survey(ctx)
	served, done := make(chan error, 1), make(chan struct{})
	go func() { served <- a.told.serve(ctx) }()
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
	pause := retryFirst
	for {
		began := time.Now()
		err := a.session(ctx)
		if ctx.Err() != nil {
			return
		}
		say("%v", err)
		a.told.problem(err)
		if time.Since(began) > retryMost {
			pause = retryFirst
		}
		var at once
		if errors.As(err, &at) {
			continue
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, retryMost)
	}
}

// once is a failure after which the next attempt is made at once.
type once struct{ error }

// refusal is a node that does not go on from the archive's last transaction.
type refusal struct{ error }

// session follows one node as long as it can.
func (a *archiver) session(ctx context.Context) error {
	if !a.loaded {
		at, err := a.store.load(ctx)
		if err != nil {
			return err
		}
		a.at, a.loaded = at, true
		a.told.archived(at)
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
	if a.at.Number == 0 {
		return a.begin(ctx, node, "it is the first")
	}
	err = a.follow(ctx, node, synced)
	var no refusal
	var ofStore storeError
	var at once
	switch {
	case errors.As(err, &no):
		if a.since.IsZero() {
			a.since = time.Now()
		}
		a.refused[node.name()] = err.Error()
		return once{fmt.Errorf("%s: %w", node.name(), err)}
	case !errors.As(err, &ofStore) && !errors.As(err, &at):
		a.avoid = node.name()
	}
	return err
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

// beginAnew is called when no node that serves goes on from the archive.
func (a *archiver) beginAnew(ctx context.Context, synced []source, away int) error {
	var whys []string
	for _, n := range synced {
		whys = append(whys, n.name()+": "+a.refused[n.name()])
	}
	slices.Sort(whys)
	if wait := refusedTime - time.Since(a.since); away > 0 && wait > 0 {
		a.refused = map[string]string{} // they are asked again, and with them those that are away now
		return fmt.Errorf("no node that serves has what follows %s; %d others are waited for, for %s: %v", a.at.Last, away, wait.Round(time.Second), whys)
	}
	say("a gap: %v", whys)
	return a.begin(ctx, synced[0], fmt.Sprintf("no node had what follows: %v", whys))
}

// begin has the archive begin where a node is now.
func (a *archiver) begin(ctx context.Context, n source, why string) error {
	at, err := n.position(ctx)
	if err != nil {
		return err
	}
	if at.last == (binlog.GTID{}) {
		return errors.New("nothing was written to the cluster since its binary log is on: the archive begins with the first transaction")
	}
	h := binlog.Head{Begins: true, Why: why, Last: at.last, Through: time.Now().UTC(), Chain: a.at.Number + 1}
	if err := a.upload(ctx, h, nil); err != nil {
		return err
	}
	a.holes = map[uint64]bool{}
	// Not at once: if no node goes on from there either, the store would fill up with beginnings.
	return fmt.Errorf("the archive begins at %s: %s", at.last, why)
}

// follow archives what a node gives.
func (a *archiver) follow(ctx context.Context, n source, all []source) error {
	now, err := n.position(ctx)
	if err != nil {
		return err
	}
	if now.domain != a.at.Last.Domain {
		return refusal{fmt.Errorf("its GTIDs have the domain %d, and the archive's %d", now.domain, a.at.Last.Domain)}
	}
	s, err := n.open(append(now.others, a.at.resume().String()))
	if err != nil {
		return err
	}
	defer s.Close()
	r := &reader{archiver: a, node: n, all: all, stream: s, last: a.at.Last, verify: a.at.verifies()}
	defer r.drop()
	say("following %s from %s", n.name(), a.at.Last)
	err = r.read(ctx)
	var ofStore storeError
	if r.open != nil && (!errors.As(err, &ofStore) || ctx.Err() != nil) { // what is complete is stored before anything else is tried
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		err = errors.Join(err, r.flush(end, time.Time{}))
	}
	return err
}

// upload stores a segment, and goes on from it.
func (a *archiver) upload(ctx context.Context, h binlog.Head, s *spool) error {
	h.Number, h.Format = a.at.Number+1, binlog.FormatVersion
	if !h.Begins {
		h.Previous, h.Chain = a.at.Last, a.at.Chain
	}
	err := a.store.put(ctx, h, s)
	if errors.Is(err, errTaken) {
		a.loaded = false
		return once{fmt.Errorf("the segment %d was stored by another archiver: going on from what the store has", h.Number)}
	}
	if err != nil {
		return err
	}
	a.at, a.stored = place{h}, time.Now()
	a.refused, a.since, a.prefer = map[string]string{}, time.Time{}, "" // they were about the place before
	a.told.archived(a.at)
	return nil
}

// out is the pod's log.
var out = logs.FromEnv(os.Stdout)

func say(format string, args ...any) { out.Logger().Info(fmt.Sprintf(format, args...)) }
