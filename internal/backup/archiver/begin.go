package archiver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// beginAnew is called when no node that serves goes on from the archive.
func (a *archiver) beginAnew(ctx context.Context, synced []source, away map[string]string) error {
	var whys []string
	for _, n := range synced {
		whys = append(whys, n.name()+": "+a.refused[n.name()])
	}
	slices.Sort(whys)
	if wait := refusedTime - time.Since(a.since); len(away) > 0 && wait > 0 {
		a.refused = map[string]string{} // they are asked again, and with them those that are away now
		return fmt.Errorf("no node that serves has what follows %s; waiting for %s, for %s: %v", a.at.Last,
			galera.Count(len(away), "other node"), wait.Round(time.Second), whys)
	}
	say("a gap: %v", whys)
	return a.begin(ctx, synced[0], synced, fmt.Sprintf("no node had what follows: %v", whys))
}

// begin has the archive begin where a node is now.
func (a *archiver) begin(ctx context.Context, n source, all []source, why string) error {
	now := time.Now()
	clear(a.clocks)
	at, err := a.ask(ctx, n)
	if err != nil {
		return err
	}
	if at.last == (binlog.GTID{}) {
		return errors.New(
			"nothing was written to the cluster since its binary log is on: the archive begins with the first transaction")
	}
	if len(at.Lines) == 0 || !at.Lines[0].Known() {
		return fmt.Errorf("%s does not report its line of history: the archive begins when it does", n.name())
	}
	before, unknown := policy.Ended(at.Domain, a.task.Ended, at.applied, at.foreign)
	if unknown != "" {
		return fmt.Errorf("the archive does not begin with %s: %s", n.name(), unknown)
	}
	h := binlog.Head{Begins: true, Why: why, Last: at.last, Seqno: at.seqno, Chain: a.at.Number + 1, Lines: at.Lines[:1],
		Foreign: before, From: at.seqno}
	confirmed, err := a.compare(ctx, n, at, all, &h)
	if err != nil {
		return err
	}
	if len(h.Foreign) > binlog.MaxForeign {
		return fmt.Errorf("%s has the transactions of %s, and an archive is made of a cluster with up to %d",
			n.name(), galera.Count(len(h.Foreign), "other server"), binlog.MaxForeign)
	}
	if confirmed && a.judged().Doubt() == 0 {
		h.Through = a.early(now)
	}
	stay := ""
	if h.LastSum, err = contentOf(ctx, n, at); err == nil {
		h.BeforeLast = preceding(at.last)
	} else { // only this node is known to go on from there
		stay = n.name()
		say("the content of %s is not known, and another node is not compared with it: %v", at.last, err)
	}
	if err := a.upload(ctx, h, nil); err != nil {
		return err
	}
	a.view, a.from, a.prefer = at.view, n.name(), stay
	// Not at once: if no node goes on from there either, the store would fill up with beginnings.
	return begun{fmt.Errorf("the archive begins at %s: %s", at.last, why)}
}

// compare asks the other nodes what they have: the chain begins after that, too. It reports whether one of them, or the
// lack of any, confirms that the node which it begins with has everything.
func (a *archiver) compare(ctx context.Context, n source, at position, all []source, h *binlog.Head) (confirmed bool,
	err error) {
	confirmed = len(all) == 1 && len(a.task.Nodes) == 1
	last := map[string]binlog.GTID{n.name(): at.last}
	for _, other := range all {
		if other.name() == n.name() {
			continue
		}
		if there, err := a.ask(ctx, other); err == nil {
			last[other.name()] = there.last
			confirmed = confirmed || !there.last.Follows(at.last)
			h.Foreign, h.From = append(h.Foreign, policy.Foreign(*h, there.foreign)...), max(h.From, there.seqno)
		}
	}
	if why := policy.Servers(last); why != "" {
		return false, errors.New("the archive does not begin: " + why)
	}
	return confirmed, nil
}

// stands returns an error when the store does not have the last segment any more, or has another one: while nothing is
// written, nothing else would notice that it was removed, or that the store was replaced. What the store has is looked
// for again then.
func (a *archiver) stands(ctx context.Context) error {
	h, err := store.Head(ctx, a.store.bucket, a.store.key(a.at.Number))
	switch {
	case store.Missing(err), err == nil && h.Checksum != a.at.Checksum:
		a.loaded = false
		return once{fmt.Errorf("the store does not have the segment %s any more, with which the archive ended, or has "+
			"another one: going on from what it has", binlog.Name(a.at.Number))}
	case errors.Is(err, store.ErrHead): // tests of backups find it
	case err != nil:
		return explained("the segment "+binlog.Name(a.at.Number)+" could not be read", err)
	}
	return nil
}
