package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
)

// role is where clients of NAME-primary are sent.
type role struct {
	primary string // as the operator says; "" while not known
	lost    time.Time
	// drained is when the pod was told to go.
	drained time.Time
	// again is when the loop looks again, nil while nothing waits.
	again *time.Timer
}

func (r *role) tell(self, primary string, now time.Time) {
	if r.primary == self && primary != self {
		r.lost = now
	}
	r.primary = primary
}

// farewell is what a stop waits for. The loop turns again when the wait is over.
func (a *agent) farewell(now time.Time) lifecycle.Farewell {
	f := lifecycle.Farewell{Primary: a.role.primary == a.Name}
	if s := a.run.Status; s != nil {
		f.Serves, f.Others = a.run.Serves(), len(s.Members) > 1
	}
	if !a.role.lost.IsZero() {
		f.Lost = now.Sub(a.role.lost)
	}
	if a.queue.Draining() {
		f.Draining = max(now.Sub(a.role.drained), 1)
	}
	return f
}

// turnAgain lets the loop turn when a stop has waited long enough.
func (a *agent) turnAgain(wait time.Duration) {
	switch {
	case wait <= 0:
	case a.role.again == nil:
		a.role.again = time.AfterFunc(wait, func() { a.queue.Post(func() {}) })
	default:
		a.role.again.Reset(wait)
	}
}
