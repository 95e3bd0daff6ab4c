package process

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Scheduling is what the gate of the event scheduler needs to know and to do.
type Scheduling struct {
	Group *api.Peers
	// Asked and Published are as in Task.
	Asked     func(unknown bool) bool
	Published func() string
	// Read reads the server's events. Open disables those for one point in time that has passed, and turns the scheduler
	// on; Close turns it off. Change gives events another status, on this server only.
	Read   func(context.Context) (*agentapi.Scheduled, error)
	Open   func(context.Context) error
	Close  func(context.Context) error
	Change func(context.Context, agentapi.EventChange) error
}

// scheduler is the gate of the server's event scheduler.
func (r *Maintainer) scheduler(s Scheduling) Gate {
	return NewGate(r.loop, r.Run, s.Group, Task{Name: "event scheduler", Asked: s.Asked, Published: s.Published,
		StateOf: func(v agentapi.PeerView) string { return v.Scheduler }, Open: s.Open, Close: s.Close, Pause: offTime,
		Turned: func() { r.scheduled.next = time.Time{} }}) // what is reported of the events changes
}

// TakenOver is called after Began for a server that another agent has started: its scheduler may run.
func (r *Maintainer) TakenOver() { r.gate.TakenOver() }

// LostPrimary is called when the server has left the Primary component, if only for a moment.
func (r *Maintainer) LostPrimary() { r.gate.LostPrimary() }

// CheckScheduler takes the next step about the event scheduler.
func (r *Maintainer) CheckScheduler(now time.Time) { r.gate.Check(now) }

// ChangeEvents gives events the status that the node of their last statement has, on this server only.
func (r *Maintainer) ChangeEvents(changes []agentapi.EventChange) {
	if r.changing || !r.Run.Serves() || r.Run.Stopping {
		return // the operator asks again
	}
	r.changing = true
	go func() {
		for _, c := range changes {
			if err := r.events.Scheduling.Change(context.Background(), c); err != nil {
				r.loop.Logger.Warn("an event's status could not be changed", "database", c.Database, "event", c.Event,
					"error", err)
			}
		}
		r.loop.Post(func() { r.changing, r.scheduled.next = false, time.Time{} })
	}()
}
