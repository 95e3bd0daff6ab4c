package serving

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// scheduledReadInterval is how often the events of the server are read.
const scheduledReadInterval = 10 * time.Second

// scheduled is what is known of the server's events.
type scheduled struct {
	busy bool
	next time.Time
	read *agentapi.Scheduled
}

// checkScheduled reads the events of a server that serves. What was read of one that does not serve now is forgotten.
func (r *Maintainer) checkScheduled(now time.Time) {
	s := &r.scheduled
	if !r.Run.Serves() || r.Run.Stopping {
		s.read, s.next = nil, time.Time{}
		return
	}
	if s.busy || now.Before(s.next) {
		return
	}
	s.busy, s.next = true, now.Add(scheduledReadInterval)
	proc := r.Run.Proc
	go func() {
		read, err := r.events.Scheduled(context.Background())
		r.loop.Post(func() {
			s.busy = false
			if err != nil {
				r.loop.Logger.Warn("scheduled events could not be read", "error", err)
				read = nil
			}
			if r.Run.Proc == proc {
				s.read = read
			}
		})
	}()
}

// Report adds the events to the report.
func (r *Maintainer) Report(to *agentapi.Report) { to.Scheduled = r.scheduled.read }
