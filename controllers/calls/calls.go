// Package calls carries out the controllers' requests to agents and archivers outside of their workers: a cluster that
// answers late, or never, costs other clusters no time.
package calls

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// patience is how long a pass waits for an answer, while the budget of its cluster lasts. Without it the object is
	// reconciled again when the answer arrives.
	patience = time.Second
	// budget is the time of workers that one cluster may take at once; it is filled again at 1/refill of the time that
	// passes.
	budget = 5 * time.Second
	refill = 20
	// callTimeout bounds one request, whatever the client does.
	callTimeout = 35 * time.Second
	// Slow is how long an answer may take before this is reported.
	Slow = 5 * time.Second
	// MaxWeight bounds a request of several questions: a heavy one does not delay the light ones.
	MaxWeight = 1000
)

// ErrPending means that the answer has not arrived yet. The object is reconciled again when it has.
var ErrPending = errors.New("the answer has not arrived yet")

// Quiet reports whether nothing has to be reported of a pass that ended with err: the answer has not arrived yet, and
// is not late.
func Quiet(err error) bool { return err == ErrPending } //nolint:errorlint // one that is late is wrapped

// By is who asks: an object, about a cluster.
type By struct{ Cluster, Object types.NamespacedName }

// Calls are the requests of one controller. The requests about one cluster are carried out one after the other, in the
// order they were asked, and those about different clusters at the same time. Safe for concurrent use.
type Calls[T comparable, Q, A any] struct {
	// Do asks several questions at once, and returns the answers in their order.
	Do func(ctx context.Context, target T, questions []Q) ([]A, error)
	// BatchSize is how many questions go together, one by default. Weight bounds them further: those of a request weigh
	// MaxWeight at most, unless it is one question.
	BatchSize int
	Weight    func(Q) int

	mu      sync.Mutex
	objects map[types.NamespacedName][]*call[T, Q, A]
	lanes   map[types.NamespacedName]*lane[T, Q, A]
	queue   workqueue.TypedInterface[reconcile.Request]
}

// call is one question of an object. It is kept until a pass of the object ends with no question left open, so that a
// pass of several questions begins again without asking them again.
type call[T comparable, Q, A any] struct {
	by       By
	target   T
	question Q
	asked    time.Time
	waiting  int  // passes that wait for it
	asking   bool // whether the pass that goes on has asked it
	started  bool
	done     chan struct{}
	answer   A
	err      error
}

func (c *call[T, Q, A]) answered() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// lane are the questions about one cluster.
type lane[T comparable, Q, A any] struct {
	next    []*call[T, Q, A]
	running bool
	// spent is how much of the budget is used up, as of at.
	spent time.Duration
	at    time.Time
}

// left returns the rest of the budget.
func (l *lane[T, Q, A]) left(now time.Time) time.Duration {
	l.spent = max(0, l.spent-now.Sub(l.at)/refill)
	l.at = now
	return budget - l.spent
}

// Ask returns the answer, or ErrPending.
func (c *Calls[T, Q, A]) Ask(ctx context.Context, by By, target T, question Q) (A, error) {
	asked, wait := c.add(by, target, question)
	began := time.Now()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-asked.done:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	asked.waiting--
	now := time.Now()
	if l := c.lanes[by.Cluster]; l != nil {
		l.left(now)
		l.spent += now.Sub(began)
	}
	switch {
	case asked.answered():
		return asked.answer, asked.err
	case now.Sub(asked.asked) >= Slow:
		return asked.answer, fmt.Errorf("%w, %s after it was asked for", ErrPending, now.Sub(asked.asked).Round(time.Second))
	}
	return asked.answer, ErrPending
}

// add returns the call for a question, and how long a pass may wait for it.
func (c *Calls[T, Q, A]) add(by By, target T, question Q) (*call[T, Q, A], time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	l := c.lane(by.Cluster, now)
	for _, have := range c.objects[by.Object] {
		if have.by == by && have.target == target && reflect.DeepEqual(have.question, question) {
			have.waiting++
			have.asking = true
			return have, min(patience, l.left(now))
		}
	}
	// The one that waits for its turn is not asked any more: another one takes its place
	c.drop(by.Object, func(o *call[T, Q, A]) bool { return !o.started && o.by == by })
	asked := &call[T, Q, A]{by: by, target: target, question: question, asked: now, waiting: 1, asking: true,
		done: make(chan struct{})}
	c.objects[by.Object] = append(c.objects[by.Object], asked)
	l.next = append(l.next, asked)
	if !l.running {
		l.running = true
		go c.run(l)
	}
	return asked, min(patience, l.left(now))
}

// drop forgets calls of an object. Those that wait for their turn are not asked.
func (c *Calls[T, Q, A]) drop(object types.NamespacedName, which func(*call[T, Q, A]) bool) {
	c.objects[object] = slices.DeleteFunc(c.objects[object], func(o *call[T, Q, A]) bool {
		if l := c.lanes[o.by.Cluster]; l != nil && which(o) {
			l.next = slices.DeleteFunc(l.next, func(n *call[T, Q, A]) bool { return n == o })
		}
		return which(o)
	})
}

// lane returns the lane of a cluster. A new one replaces those that are idle and have their whole budget.
func (c *Calls[T, Q, A]) lane(key types.NamespacedName, now time.Time) *lane[T, Q, A] {
	if l := c.lanes[key]; l != nil {
		return l
	}
	if c.lanes == nil {
		c.lanes = map[types.NamespacedName]*lane[T, Q, A]{}
		c.objects = map[types.NamespacedName][]*call[T, Q, A]{}
	}
	for k, l := range c.lanes {
		if !l.running && l.left(now) == budget {
			delete(c.lanes, k)
		}
	}
	l := &lane[T, Q, A]{at: now}
	c.lanes[key] = l
	return l
}

// run carries out the questions of a lane until there are none.
func (c *Calls[T, Q, A]) run(l *lane[T, Q, A]) {
	for batch := c.start(l); len(batch) > 0; batch = c.start(l) {
		questions := make([]Q, len(batch))
		for i, one := range batch {
			questions[i] = one.question
		}
		answers, err := c.do(batch[0].target, questions)
		c.end(batch, answers, err)
	}
}

// do carries a request out. A panic is an error of this request, as it is in a reconcile.
func (c *Calls[T, Q, A]) do(target T, questions []Q) (answers []A, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the request panicked: %v", r)
		}
	}()
	answers, err = c.Do(ctx, target, questions)
	if err == nil && len(answers) != len(questions) {
		err = fmt.Errorf("%d answers to %d questions", len(answers), len(questions))
	}
	return answers, err
}

// start takes the questions of the next request: the first one, and those after it that go to the same target.
func (c *Calls[T, Q, A]) start(l *lane[T, Q, A]) (batch []*call[T, Q, A]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	weight := 0
	for _, one := range l.next {
		if c.Weight != nil {
			weight += c.Weight(one.question)
		}
		full := len(batch) >= max(c.BatchSize, 1) || weight > MaxWeight
		if len(batch) > 0 && (full || one.target != batch[0].target) {
			break
		}
		one.started = true
		batch = append(batch, one)
	}
	l.next = l.next[len(batch):]
	l.running = len(batch) > 0
	return batch
}

// end hands out answers: to the passes that wait, and by a new pass to the others.
func (c *Calls[T, Q, A]) end(batch []*call[T, Q, A], answers []A, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, one := range batch {
		if one.err = err; err == nil {
			one.answer = answers[i]
		}
		close(one.done)
		if one.waiting == 0 && c.queue != nil && slices.Contains(c.objects[one.by.Object], one) {
			c.queue.Add(reconcile.Request{NamespacedName: one.by.Object})
		}
	}
}

// EndPass forgets the answers to an object, unless one of its questions is still open. Each pass ends with it. A
// question of an earlier pass that this one has not repeated is not asked any more. One that is in progress already
// will be the last that was asked: the answers of this pass do not hold after it, and are asked for again when it ends.
func (c *Calls[T, Q, A]) EndPass(object types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.objects[object]
	if slices.ContainsFunc(all, func(o *call[T, Q, A]) bool { return o.asking }) {
		c.drop(object, func(o *call[T, Q, A]) bool { return !o.asking && !o.started })
		stale := func(o *call[T, Q, A]) bool { return !o.asking && !o.answered() }
		if slices.ContainsFunc(c.objects[object], stale) {
			c.drop(object, (*call[T, Q, A]).answered)
		}
	}
	if !slices.ContainsFunc(c.objects[object], func(o *call[T, Q, A]) bool { return !o.answered() }) {
		delete(c.objects, object)
	}
	for _, o := range c.objects[object] {
		o.asking = false
	}
}

// Source makes the controller reconcile objects whose answers have arrived.
func (c *Calls[T, Q, A]) Source() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queue = queue
		return nil
	})
}

// One makes a function that asks one question that of Calls.Do.
func One[T comparable, Q, A any](do func(context.Context, T, Q) (A, error)) func(context.Context, T, []Q) ([]A, error) {
	return func(ctx context.Context, target T, questions []Q) ([]A, error) {
		answer, err := do(ctx, target, questions[0])
		return []A{answer}, err
	}
}
