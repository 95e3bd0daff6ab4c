package measure

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/measure/sysbench"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const transferPace = 500 * time.Millisecond

// transfer watches one node lose its data and get it anew. The operator takes the data away, once this pod
// has run for BaseSeconds.
func (r *runner) transfer(ctx context.Context) error {
	t := r.plan.Transfer
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.PatienceSeconds)*time.Second)
	defer cancel()
	victim, err := r.member(t.Victim)
	if err != nil {
		return err
	}
	facts := &result.TransferFacts{Victim: victim.Name}
	r.out.Transfer = facts
	loading, stopLoad := context.WithCancel(ctx)
	loaded := make(chan loadResult, 1)
	go func() { loaded <- r.load(loading) }()

	var gone, back time.Time
	err = r.measure(ctx, func(ctx context.Context) (err error) {
		gone, back, err = r.watchTransfer(ctx, victim, facts)
		return err
	})
	stopLoad()
	load := <-loaded
	facts.Series = load.series
	facts.LoadBefore, facts.LoadDuring = around(load, gone, back)
	return errors.Join(err, load.err)
}

func (r *target) member(name string) (result.Member, error) {
	for _, m := range r.plan.Members {
		if m.Name == name {
			return m, nil
		}
	}
	return result.Member{}, fmt.Errorf("there is no node %q", name)
}

// watchTransfer waits until the victim serves as another server than before, and reads how it joined.
func (r *runner) watchTransfer(ctx context.Context, victim result.Member, facts *result.TransferFacts) (gone,
	back time.Time, err error) {
	before := r.agents.sample(ctx, victim)
	if before == nil {
		return gone, back, fmt.Errorf("%s does not answer", victim.Name)
	}
	absence := absence{server: before[result.MetricStarted]}
	tick := time.NewTicker(transferPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return absence.began, back, fmt.Errorf("%s did not come back in time", victim.Name)
		case <-tick.C:
		}
		asked := time.Now()
		s := r.agents.sample(ctx, victim)
		absence.saw(asked, s)
		if back.IsZero() && serves(s, absence.server) {
			back = time.Now()
		}
		if joined(s, absence.server) {
			facts.Kind, facts.Donor = label(s, "kind"), label(s, "donor")
			facts.Seconds, facts.Bytes = s[result.MetricJoinSeconds], s[result.MetricJoinBytes]
			return absence.began, back, nil
		}
	}
}

// serves returns whether another server than before serves.
func serves(s result.Sample, before float64) bool {
	return s[result.MetricSynced] == 1 && s[result.MetricStarted] != before
}

// joined returns whether it serves, and the figures of its join are the last: the agent still adds up the bytes when
// the server is synced already.
func joined(s result.Sample, before float64) bool {
	return serves(s, before) && s[result.MetricJoining] == 0
}

// absence finds out when a server stopped to serve: it says so, another one answers, or several answers in a row are
// missing. One may be lost to a busy host.
type absence struct {
	// server is when the one that is watched was started.
	server float64
	// began is when it stopped; zero: it serves.
	began time.Time

	missed int
	since  time.Time
}

// saw notes the answer to a question, nil when there was none.
func (a *absence) saw(asked time.Time, s result.Sample) {
	switch {
	case !a.began.IsZero():
		return
	case s[result.MetricSynced] == 1 && s[result.MetricStarted] == a.server:
		a.missed = 0
		return
	case a.missed == 0:
		a.since = asked
	}
	if a.missed++; s != nil || a.missed >= maxMissed {
		a.began = a.since
	}
}

// loadResult is the load that runs alongside a transfer.
type loadResult struct {
	started time.Time
	series  []result.Point
	err     error
}

// load runs transactions until ctx ends; what sysbench has printed until then is read.
func (r *runner) load(ctx context.Context) loadResult {
	l := loadResult{started: time.Now()}
	threads := r.plan.Transfer.LoadThreads
	if threads == 0 {
		return l
	}
	if l.err = r.sysbenchFiles(); l.err != nil {
		return l
	}
	args := append(r.arguments("oltp_read_write", threads), "--report-interval=1",
		"--time="+strconv.Itoa(r.plan.Transfer.PatienceSeconds), "run")
	text, err := r.sysbench(ctx, args)
	result, _ := sysbench.Parse(text) // it never comes to its end
	l.series = result.Series
	if ctx.Err() == nil {
		l.err = fmt.Errorf("the load alongside the transfer ended: %w", firstOf(text, err))
	}
	return l
}

// around averages the load before the node went, and until it was back; both are 0 when either is not known.
func around(l loadResult, gone, back time.Time) (before, during float64) {
	var sums, counts [2]float64
	for _, p := range l.series {
		at := l.started.Add(time.Duration(p.Second * float64(time.Second)))
		switch {
		case p.Second <= 1: // connecting
		case at.Before(gone):
			sums[0], counts[0] = sums[0]+p.TPS, counts[0]+1
		case at.Before(back):
			sums[1], counts[1] = sums[1]+p.TPS, counts[1]+1
		}
	}
	if counts[0] == 0 || counts[1] == 0 {
		return 0, 0
	}
	return sums[0] / counts[0], sums[1] / counts[1]
}
