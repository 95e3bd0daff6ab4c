package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// primaryRole is where clients of NAME-primary are sent.
type primaryRole struct {
	primary string // as the operator reports; "" while not known
	lost    time.Time
	// proxied reports whether a proxy may send statements to this member, as the operator reports.
	proxied bool
	// stopping is when a stop was first wanted, zero while none is.
	stopping time.Time
	// drained is when the pod's termination began.
	drained time.Time
	// recheck is the timer of the loop's next check, nil while nothing waits.
	recheck *time.Timer
}

func (r *primaryRole) setPrimary(self string, p agentapi.Primary, now time.Time) {
	if r.primary == self && p.Name != self {
		r.lost = now
	}
	r.primary, r.proxied = p.Name, p.Proxied
}

// setStopping records since when a stop has been wanted.
func (r *primaryRole) setStopping(wanted bool, now time.Time) {
	switch {
	case !wanted:
		r.stopping = time.Time{}
	case r.stopping.IsZero():
		r.stopping = now
	}
}

// drainDelay returns what a stop waits for. The loop runs again when the wait is over.
func (r *primaryRole) drainDelay(self string, s *agentapi.Server, draining bool, now time.Time) lifecycle.DrainDelay {
	f := lifecycle.DrainDelay{Primary: r.primary == self, Proxied: r.proxied}
	if s != nil {
		f.Serves, f.Others = lifecycle.Serves(s), len(s.Members) > 1
	}
	if !r.lost.IsZero() {
		f.Lost = now.Sub(r.lost)
	}
	if !r.stopping.IsZero() {
		f.Stopping = max(now.Sub(r.stopping), 1)
	}
	if draining {
		f.Draining = max(now.Sub(r.drained), 1)
	}
	return f
}

// scheduleRecheck lets the loop turn when a stop has waited long enough.
func (r *primaryRole) scheduleRecheck(wait time.Duration, post func(func())) {
	switch {
	case wait <= 0:
	case r.recheck == nil:
		r.recheck = time.AfterFunc(wait, func() { post(func() {}) })
	default:
		r.recheck.Reset(wait)
	}
}
