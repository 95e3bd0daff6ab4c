package runner

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	countPace = 500 * time.Millisecond
	// countTime is what an answer may take: a later one may have counted at any time since the question.
	countTime = 400 * time.Millisecond
	// spanLeast has to lie between the first count and the last, and commitsLeast transactions before the node went: of
	// fewer no rate can be reported.
	spanLeast    = 2 * time.Second
	commitsLeast = 50
	// connectingTime after its start a load has all of its connections.
	connectingTime = time.Second
)

// count is how many transactions a node had committed at some time: clients' own, and not those of other nodes.
type count struct {
	at time.Time
	n  float64
}

// countCommits asks all nodes but one until ctx ends. The load itself does not determine which of its transactions was
// made where.
func (r *target) countCommits(ctx context.Context, but result.Member) map[string][]count {
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string][]count{}
	for _, m := range r.plan.Members {
		if m == but {
			continue
		}
		wg.Go(func() {
			counts := r.countOn(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			out[m.Name] = counts
		})
	}
	wg.Wait()
	return out
}

// countOn asks one node. What it does not answer, or not in time, is missing.
func (r *target) countOn(ctx context.Context, m result.Member) (counts []count) {
	_ = r.withDB(m.Host, func(db *sql.DB) error { // unknown stays empty
		tick := time.NewTicker(countPace)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			asked := time.Now()
			n, err := commits(ctx, db)
			if took := time.Since(asked); err == nil && took < countTime {
				counts = append(counts, count{asked.Add(took / 2), n})
			}
		}
	})
	return counts
}

// commits asks for the counter as it is: to wait for what other nodes have written (wsrep_sync_wait) would take its
// time.
func commits(ctx context.Context, db *sql.DB) (n float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if _, err := db.ExecContext(ctx, "SET SESSION wsrep_sync_wait = 0"); err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx,
		"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_local_commits'").Scan(&n)
	return n, err
}

// nodeLoads are the rates of those nodes of which enough is known, before the victim went and until it was back.
func nodeLoads(counts map[string][]count, started, gone, back time.Time) map[string]result.NodeLoad {
	out := map[string]result.NodeLoad{}
	for name, all := range counts {
		before, many, ok1 := rate(all, started.Add(connectingTime), gone)
		during, _, ok2 := rate(all, gone, back)
		if ok1 && ok2 && many >= commitsLeast {
			out[name] = result.NodeLoad{Before: before, During: during}
		}
	}
	return out
}

// rate is how many were committed per second between two times, and how many in all. ok is false when the counts do not
// tell: there are too few, most of the time is not among them, or the counter began anew.
func rate(counts []count, from, to time.Time) (perSecond, many float64, ok bool) {
	var first, last *count
	for i := range counts {
		c := &counts[i]
		switch {
		case c.at.Before(from) || c.at.After(to):
			continue
		case first == nil:
			first = c
		case c.n < last.n:
			return 0, 0, false
		}
		last = c
	}
	if first == nil {
		return 0, 0, false
	}
	span := last.at.Sub(first.at)
	many = last.n - first.n
	return many / span.Seconds(), many, span >= spanLeast && span > to.Sub(from)/2
}
