package eventloop

import (
	"context"
	"log/slog"
	"time"
)

// settleTime is how long the end of the agent waits for the writes to the volume that have begun.
const settleTime = 5 * time.Second

// Queue holds the events of the loop, and ends what workers do when the pod is drained.
type Queue struct {
	// Events are handled by the loop, one after the other.
	Events chan func()

	drained context.Context
	drain   context.CancelFunc
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	q := &Queue{Events: make(chan func(), 64)}
	q.drained, q.drain = context.WithCancel(context.Background())
	return q
}

// Loop returns the queue as components use it.
func (q *Queue) Loop(logger *slog.Logger) Loop {
	return Loop{Post: q.Post, Work: q.work, Draining: q.Draining, Logger: logger}
}

// Post hands an event to the loop. Safe for concurrent use.
func (q *Queue) Post(event func()) { q.Events <- event }

// Drain begins the end of the pod.
func (q *Queue) Drain() { q.drain() }

// Draining reports whether the pod is terminating.
func (q *Queue) Draining() bool { return q.drained.Err() != nil }

// work returns a context that ends after limit, or when the pod is drained.
func (q *Queue) work(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	stop := context.AfterFunc(q.drained, cancel)
	return ctx, func() { stop(); cancel() }
}

// Settle gives what wait waits for a moment before the agent ends.
func (q *Queue) Settle(wait func()) {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	for {
		select {
		case <-q.Events: // nothing follows from it any more
		case <-done:
			return
		case <-limit.C:
			return
		}
	}
}
