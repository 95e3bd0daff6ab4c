package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// role is where clients of NAME-primary are sent.
type role struct {
	primary string // as the operator reports; "" while not known
	lost    time.Time
	// drained is when the pod's termination began.
	drained time.Time
	// again is the timer of the loop's next check, nil while nothing waits.
	again *time.Timer
}

func (r *role) tell(self, primary string, now time.Time) {
	if r.primary == self && primary != self {
		r.lost = now
	}
	r.primary = primary
}

// farewell returns what a stop waits for. The loop runs again when the wait is over.
func (r *role) farewell(self string, s *agentapi.Server, draining bool, now time.Time) lifecycle.Farewell {
	f := lifecycle.Farewell{Primary: r.primary == self}
	if s != nil {
		f.Serves, f.Others = lifecycle.Serves(s), len(s.Members) > 1
	}
	if !r.lost.IsZero() {
		f.Lost = now.Sub(r.lost)
	}
	if draining {
		f.Draining = max(now.Sub(r.drained), 1)
	}
	return f
}

// turnAgain lets the loop turn when a stop has waited long enough.
func (r *role) turnAgain(wait time.Duration, post func(func())) {
	switch {
	case wait <= 0:
	case r.again == nil:
		r.again = time.AfterFunc(wait, func() { post(func() {}) })
	default:
		r.again.Reset(wait)
	}
}
