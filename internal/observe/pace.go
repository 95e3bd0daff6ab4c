package observe

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

// Limits per cluster, also for a process that answers in an agent's place: one request at a time for each agent, a
// number of requests per second, and a number of passes. A real agent never reaches them, so its news are never
// delayed.
const (
	// questionRate is how many questions per second an agent is asked, after a burst of questionBurst.
	questionRate  = 4
	questionBurst = 20
	// wakeRate is how many passes per second a cluster's agents may cause, after a burst of wakeBurst.
	wakeRate  = 5
	wakeBurst = 30
	// An agent keeps a question for longPoll when it has no news. One that answers within immediateAnswer without any is
	// asked again after a pause, which grows from initialPause to maxPause.
	immediateAnswer = time.Second
	initialPause    = 100 * time.Millisecond
	maxPause        = 5 * time.Second
)

// pace is when an agent is asked next.
type pace struct {
	questions *rate.Limiter
	pause     time.Duration
}

func newPace() *pace {
	return &pace{questions: rate.NewLimiter(questionRate, questionBurst)}
}

// wait returns when the next question may be asked, and false when there is to be none.
func (p *pace) wait(ctx context.Context) bool {
	pause(ctx, p.pause)
	return p.questions.Wait(ctx) == nil
}

// answered notes an answer: whether it was news, and how long it took.
func (p *pace) answered(news bool, took time.Duration) {
	switch {
	case news || took >= immediateAnswer:
		p.pause = 0
	case p.pause == 0:
		p.pause = initialPause
	default:
		p.pause = min(2*p.pause, maxPause)
	}
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// wakes bounds how often the news of a cluster's agents cause a pass. News that come too fast cause one pass, a little
// later.
type wakes struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]*waking
}

type waking struct {
	limit   *rate.Limiter
	pending bool
}

func (w *wakes) wake(key types.NamespacedName, report func(types.NamespacedName)) {
	w.mu.Lock()
	if w.clusters == nil {
		w.clusters = map[types.NamespacedName]*waking{}
	}
	of := w.clusters[key]
	if of == nil {
		of = &waking{limit: rate.NewLimiter(wakeRate, wakeBurst)}
		w.clusters[key] = of
	}
	if of.pending {
		w.mu.Unlock()
		return // the pass that is to come sees this, too
	}
	later := of.limit.Reserve().Delay()
	of.pending = later > 0
	w.mu.Unlock()
	if later == 0 {
		report(key)
		return
	}
	time.AfterFunc(later, func() {
		w.mu.Lock()
		of.pending = false
		w.mu.Unlock()
		report(key)
	})
}

func (w *wakes) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clusters, key)
}
