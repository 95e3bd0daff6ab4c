package archiver

import (
	"context"
	"maps"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// clocks are how far those of nodes are ahead of the own one.
type clocks map[string]time.Duration

// forgetOthers keeps the clock of one node.
func (c clocks) forgetOthers(n source) {
	maps.DeleteFunc(c, func(name string, _ time.Duration) bool { return name != n.name() })
}

// ask asks a node where it is, and notes its clock.
func (a *archiver) ask(ctx context.Context, n source) (position, error) {
	at, err := n.position(ctx)
	if err == nil {
		if a.clocks == nil {
			a.clocks = clocks{}
		}
		a.clocks[n.name()] = at.ahead
	}
	return at, err
}

// apiClock names the clock that the operator sends.
const apiClock = "the API server"

func (a *archiver) judged() policy.Clock {
	all := maps.Clone(a.clocks)
	if ahead, ok := a.reports.heard(); ok && all != nil {
		all[apiClock] = ahead
	}
	return policy.JudgeClock(all)
}

// early and late are what a time of the own clock is by those that agree, at the earliest and at the latest. Neither
// has a monotonic reading: the own clock may be set.
func (a *archiver) early(t time.Time) time.Time { return t.Round(0).UTC().Add(a.judged().Early) }

func (a *archiver) late(t time.Time) time.Time { return t.Round(0).UTC().Add(a.judged().Late) }

// times bound transactions that were committed before a time of the own clock.
func (a *archiver) times(before time.Time) binlog.Times {
	if a.judged().Doubt() > 0 {
		return binlog.Doubtful(a.through, a.early(before), a.late(before), a.at.LastTime)
	}
	return binlog.Between(a.through, a.late(before), a.at.LastTime)
}

// rawTimes are what the transactions of a segment say of their time.
type rawTimes struct {
	first, earliest, latest time.Time
	archived                time.Time // what was called archived when the last one was read
	overdue                 time.Time // when the last one was read that says to be of before that, the zero time for none
}

// add takes a transaction that says at of its time.
func (t *rawTimes) add(at, archived, read time.Time) {
	if t.first.IsZero() {
		*t = rawTimes{first: at, earliest: at, latest: at}
	}
	if at.Before(t.earliest) {
		t.earliest = at
	}
	if t.archived = archived; at.Before(archived) {
		t.overdue = read
	}
	t.latest = binlog.Later(t.latest, at)
}

// bounds bound transactions that were read. How long ago that was does not go by a clock that may have been set.
func (a *archiver) bounds(raw rawTimes, now time.Time) binlog.Times {
	read := raw.overdue
	if !raw.archived.Equal(a.through) { // another archiver has called a later time archived since
		read = now
	}
	return a.times(now).Since(a.through, a.late(now).Add(-now.Sub(read)))
}

// aheadBy is how far a clock is ahead of the own one, which showed asked before it was read and answered after that.
func aheadBy(clock, asked, answered time.Time) time.Duration {
	switch asked, answered = asked.Round(0), answered.Round(0); {
	case clock.Before(asked):
		return clock.Sub(asked)
	case clock.After(answered):
		return clock.Sub(answered)
	}
	return 0
}

// enoughClocks are those of nodes that one wrong clock does not decide among, also where it is the archiver's, too.
const enoughClocks = 3

// askClocks asks nodes for their clocks that nothing else was asked of: the archiver may run on the host of a node, and
// both have one clock.
func (r *reader) askClocks(ctx context.Context) {
	for _, n := range r.all.synced {
		if _, asked := r.clocks[n.name()]; asked || len(r.clocks) >= enoughClocks {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, confirmTime)
		if _, err := r.archiver.ask(ctx, n); err != nil { // the others have to do
			say("%s shows no clock: %v", n.name(), err)
		}
		cancel()
	}
}
