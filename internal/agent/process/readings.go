package process

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// readInterval is how often a server that serves is asked.
const readInterval = 10 * time.Second

// reading is what a server that serves was asked for last, nil while that is not known.
type reading[T any] struct {
	busy  bool
	next  time.Time
	value *T
}

// check asks a server that serves, and passes what it read to seen. What was read of one that does not serve now is
// forgotten.
func (s *reading[T]) check(r *Maintainer, now time.Time, what string, read func(context.Context) (*T, error),
	seen func(*T)) {
	if !r.Run.Serves() || r.Run.Stopping {
		s.value, s.next = nil, time.Time{}
		return
	}
	if s.busy || now.Before(s.next) {
		return
	}
	s.busy, s.next = true, now.Add(readInterval)
	proc := r.Run.Proc
	go func() {
		value, err := read(context.Background())
		r.loop.Post(func() {
			s.busy = false
			if err != nil {
				r.loop.Logger.Warn(what+" could not be read", "error", err)
				value = nil
			}
			if r.Run.Proc != proc {
				return
			}
			s.value = value
			if value != nil {
				seen(value)
			}
		})
	}()
}

// Report adds what was read, and the state of the event scheduler, to the report.
func (r *Maintainer) Report(to *agentapi.Report) {
	to.Blocked, to.ZonesFailure = r.blocked.value, r.Zones.Failure()
	to.Scheduler = r.gate.Reported(time.Now())
	if r.scheduled.value != nil {
		read := *r.scheduled.value
		read.Waiting = r.gate.Waiting()
		to.Scheduled = &read
	}
}
