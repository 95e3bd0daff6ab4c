package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// loop does one thing again and again with some threads, and notes how long each took.
type loop struct {
	threads int
	// seconds it takes, or most the number of times; one of them is 0.
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
}

// run lets all threads work until time or number is over, or the way is lost. do is told how many have begun, itself included, and its
// thread, from 0.
func (l *loop) run(ctx context.Context, do func(ctx context.Context, n int64, thread int) error) {
	l.began = time.Now()
	if l.most == 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(l.seconds)*time.Second)
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
		wg.Go(func() {
			for !over(ctx) {
				n := l.started.Add(1)
				if l.most > 0 && n > l.most {
					return
				}
				begin := time.Now()
				err := do(ctx, n, thread)
				if !over(ctx) {
					l.note(float64(time.Since(begin).Microseconds())/1e3, err)
				}
			}
		})
	}
	wg.Wait()
}

// over says that ctx has ended. On a busy host it learns of its deadline late, while all that heeds the deadline
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
	p := result.Paced{Seconds: wall.Seconds(), Errors: l.failed, Series: l.series.whole(wall),
		P50: quantile(l.took, 50), P95: quantile(l.took, 95), P99: quantile(l.took, 99), Max: quantile(l.took, 100)}
	if wall > 0 {
		p.PerSecond = float64(len(l.took)) / wall.Seconds()
	}
	if l.last != nil {
		p.LastError = l.last.Error()
	}
	return p
}
