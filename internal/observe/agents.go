// Package observe gathers facts: it reads the API server, follows the agents, and combines
// both into a Snapshot. It changes nothing.
package observe

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Target is one agent and what is needed to trust it.
type Target struct {
	// Pod is the pod's name, UID its uid: another pod of the same name is another agent.
	Pod string
	UID types.UID
	// Address is the pod's IP address.
	Address string
	// ServerName is the DNS name the agent's certificate must carry.
	ServerName string
	// CA is the cluster's trust bundle in PEM.
	CA string
}

// Client calls agents; internal/agentapi has the real one.
type Client interface {
	// Status returns the agent's report, at the latest after wait, at once when it differs from since.
	Status(ctx context.Context, t Target, since int64, wait time.Duration) (agentapi.Report, error)
	// Order sends an order.
	Order(ctx context.Context, t Target, o agentapi.Order) (agentapi.OrderResult, error)
	// ReportPrimary reports to the agent which member clients are sent to.
	ReportPrimary(ctx context.Context, t Target, p agentapi.Primary) error
	// ChangeEvents gives the member's copies of events another status.
	ChangeEvents(ctx context.Context, t Target, changes []agentapi.EventChange) error
	// Evict asks the agent to evict a terminated server from its group.
	Evict(ctx context.Context, t Target, e agentapi.Eviction) error
	// Replace sends the agent the program of its successor.
	Replace(ctx context.Context, t Target, p *agentapi.Program) error
	// Forget releases the resources kept for an agent that is gone.
	Forget(t Target)
}

const (
	// longPoll is how long an unchanged agent holds a request; with twice answerTime it bounds the age of the reports.
	longPoll = 10 * time.Second
	// answerTimeout is what is allowed on top of it, and for the one question more, before an agent counts as silent.
	answerTimeout = 2 * time.Second
	initialRetry  = 200 * time.Millisecond
	maxRetry      = 2 * time.Second
)

// Seen is the last report of an agent and whether it still holds.
type Seen struct {
	Report agentapi.Report
	// At is when it came in. The times in it that are compared with others are by the same clock.
	At time.Time
	// Live reports whether the agent answers: the report is current.
	Live bool
	// Err is why the last question failed, nil when it did not.
	Err error
}

// Agents follows the agents of all clusters: one outstanding question per agent, answered
// when something changes. Changed is called with the cluster's key whenever a report changed or
// an agent fell silent.
type Agents struct {
	Client  Client
	Changed func(cluster types.NamespacedName)

	mu       sync.Mutex
	clusters map[types.NamespacedName]map[string]*follower
	wakes    wakes
}

// follower asks one agent.
type follower struct {
	target Target
	cancel context.CancelFunc
	mu     sync.Mutex
	seen   Seen
	late   bool // the last question was not answered in time, and the one before it was
}

// Follow makes the agents followed for a cluster exactly those of targets.
func (a *Agents) Follow(key types.NamespacedName, targets []Target) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clusters == nil {
		a.clusters = map[types.NamespacedName]map[string]*follower{}
	}
	have := a.clusters[key]
	if have == nil {
		have = map[string]*follower{}
		a.clusters[key] = have
	}
	wanted := map[string]bool{}
	for _, t := range targets {
		wanted[t.Pod] = true
		if f := have[t.Pod]; f != nil {
			if f.target == t {
				continue
			}
			f.cancel()
		}
		have[t.Pod] = a.start(key, t)
	}
	for name, f := range have {
		if !wanted[name] {
			f.cancel()
			delete(have, name)
		}
	}
	if len(have) == 0 {
		delete(a.clusters, key)
		a.wakes.forget(key)
	}
}

// Seen returns what is known of a cluster's agents, by pod name.
func (a *Agents) Seen(key types.NamespacedName) map[string]Seen {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[string]Seen, len(a.clusters[key]))
	for name, f := range a.clusters[key] {
		out[name] = f.get()
	}
	return out
}

// Asked reports whether every agent of a cluster has answered, or failed to, at least once. Before
// that, right after the operator's start, silence means nothing.
func (a *Agents) Asked(key types.NamespacedName) bool {
	for _, s := range a.Seen(key) {
		if !s.Live && s.Err == nil {
			return false
		}
	}
	return true
}

// Target returns where a followed agent is reached.
func (a *Agents) Target(key types.NamespacedName, pod string) (Target, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.clusters[key][pod]
	if f == nil {
		return Target{}, false
	}
	return f.target, true
}

func (a *Agents) start(key types.NamespacedName, t Target) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{target: t, cancel: cancel}
	go a.follow(ctx, key, f)
	return f
}

// follow asks until it is cancelled.
func (a *Agents) follow(ctx context.Context, key types.NamespacedName, f *follower) {
	retry := initialRetry
	since := int64(-1)
	pace := newPace()
	for pace.wait(ctx) {
		asked := time.Now()
		report, err := a.ask(ctx, f.target, since)
		report.DropUnknownPeers(key.Name)
		if ctx.Err() != nil {
			break
		}
		changed := f.set(report, err)
		if changed {
			a.wakes.wake(key, a.Changed)
		}
		if err == nil {
			pace.answered(changed, time.Since(asked))
			since, retry = report.Generation, initialRetry
			continue
		}
		since = -1 // the agent may be another one now
		if broken(err) && f.get().Live {
			continue // at once: an agent that is being replaced takes connections all the time, one that has ended refuses
		}
		pause(ctx, retry)
		retry = min(2*retry, maxRetry)
	}
	a.Client.Forget(f.target)
}

func (a *Agents) ask(ctx context.Context, t Target, since int64) (agentapi.Report, error) {
	wait := longPoll
	if since < 0 {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(ctx, wait+answerTimeout)
	defer cancel()
	return a.Client.Status(ctx, t, since, wait)
}

// set stores an answer and reports whether it is new.
func (f *follower) set(r agentapi.Report, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.seen
	// After one late answer, as from a busy machine, or one that breaks off, as when an agent replaces itself, it is asked
	// again: no switchover is needed for it. An agent that refuses the connection has ended.
	late := (errors.Is(err, context.DeadlineExceeded) || broken(err)) && before.Live && !f.late
	f.late = late
	if late {
		return false
	}
	if err != nil {
		f.seen.Live, f.seen.Err = false, err
		return before.Live || before.Err == nil
	}
	now := time.Now()
	f.seen = Seen{Report: r.Received(now), At: now, Live: true}
	return !before.Live || before.Report.Generation != r.Generation || before.Report.Boot != r.Boot
}

// broken reports whether a connection ended before the answer did.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

func (f *follower) get() Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}
