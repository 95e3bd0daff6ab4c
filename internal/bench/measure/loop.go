package measure

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// loop does one thing again and again with some threads, and notes how long each took.
type loop struct {
	threads int
	// seconds after which no thread begins again, or most the number of times; one of them is 0.
	seconds int
	most    int64
	// lost is closed when nothing can be measured any more; nil: never.
	lost <-chan struct{}

	started atomic.Int64
	mu      sync.Mutex
	began   time.Time
	series  seconds
	took    []float64
	failed  int64
	last    error
	// perSecond is what all threads did in the time each took for it.
	perSecond float64
}

// patienceAtEnd is how long what has begun may go on after the end.
const patienceAtEnd = 30 * time.Second

// run lets all threads work until time or number is over, or the route is lost. What has begun when the time is over is
// finished, and counted: otherwise a rate would be that of the whole operations that fit into the time. do is reported
// how many have begun, itself included, and its thread, from 0.
func (l *loop) run(ctx context.Context, do func(ctx context.Context, n int64, thread int) error) {
	l.began = time.Now()
	last := time.Time{} // when the last operation begins at the latest
	if l.most == 0 {
		last = l.began.Add(time.Duration(l.seconds) * time.Second)
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, last.Add(patienceAtEnd))
		defer stop()
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-l.lost:
			end()
		case <-ctx.Done():
		}
	}()
	var wg sync.WaitGroup
	for thread := range l.threads {
		wg.Go(func() { l.thread(ctx, thread, last, do) })
	}
	wg.Wait()
}

// thread works until the last operation may begin.
func (l *loop) thread(ctx context.Context, thread int, last time.Time,
	do func(ctx context.Context, n int64, thread int) error) {
	done, ended := 0, l.began
	for !over(ctx) && (last.IsZero() || time.Now().Before(last)) {
		n := l.started.Add(1)
		if l.most > 0 && n > l.most {
			break
		}
		begin := time.Now()
		err := do(ctx, n, thread)
		if over(ctx) {
			if !last.IsZero() && !time.Now().Before(last.Add(patienceAtEnd)) {
				l.note(0, fmt.Errorf("it did not finish within %s after the end of the run", patienceAtEnd))
			}
			break
		}
		ended = time.Now()
		if l.note(float64(ended.Sub(begin).Microseconds())/1e3, err); err == nil {
			done++
		}
	}
	if took := ended.Sub(l.began); took > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.perSecond += float64(done) / took.Seconds()
	}
}

// over reports whether ctx has ended. On a busy host it learns of its deadline late, while all that heeds the deadline
// fails already.
func over(ctx context.Context) bool {
	end, has := ctx.Deadline()
	return ctx.Err() != nil || has && !time.Now().Before(end)
}

func (l *loop) note(ms float64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.series.add(time.Since(l.began), ms, err != nil)
	if err != nil {
		l.failed, l.last = l.failed+1, err
		return
	}
	l.took = append(l.took, ms)
}

// paced is what was measured in the time it took.
func (l *loop) paced(wall time.Duration) result.Paced {
	slices.Sort(l.took)
	at := func(percent float64) float64 { return result.Quantile(l.took, percent) }
	p := result.Paced{Seconds: wall.Seconds(), Errors: l.failed, Series: l.series.whole(wall), PerSecond: l.perSecond,
		P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
	if l.last != nil {
		p.LastError = l.last.Error()
	}
	return p
}
