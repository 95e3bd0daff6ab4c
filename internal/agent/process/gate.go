package process

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// offTime is how long a scheduler is off before that is reported: events are for whole seconds, and another server must
// not run what this one has run in the same second.
const offTime = time.Second

// gate decides whether the server's event scheduler runs.
type gate struct {
	busy bool
	// state is agentapi.SchedulerOff, On, or "" while it is not known: an agent before may have turned it on.
	state string
	// off is since when it is off.
	off time.Time
	// claimed reports whether this member no longer reports Off; visible is since when the others can see that.
	claimed bool
	visible time.Time
	// lost reports whether the component was not Primary for a moment: another one may have gone on meanwhile.
	lost    bool
	waiting string
}

// Scheduling is what the gate of the event scheduler needs to know and to do.
type Scheduling struct {
	Group *api.Peers
	// Asked reports whether the operator wants events to run here; unknown is the answer while an agent that has replaced
	// another one does not know yet whether events are to run at all.
	Asked func(unknown bool) bool
	// Published returns the scheduler's state in the report that others read.
	Published func() string
	// Read reads the server's events. Open disables those for one point in time that has passed, and turns the scheduler
	// on; Close turns it off. Change gives events another status, on this server only.
	Read   func(context.Context) (*agentapi.Scheduled, error)
	Open   func(context.Context) error
	Close  func(context.Context) error
	Change func(context.Context, agentapi.EventChange) error
}

// launched is called for a new server: its option file has event_scheduler=OFF.
func (g *gate) launched() { *g = gate{busy: g.busy, state: agentapi.SchedulerOff, off: time.Now()} }

// TakenOver is called after Began for a server that another agent has started: its scheduler may run.
func (r *Maintainer) TakenOver() { r.gate = gate{} }

// LostPrimary is called when the server has left the Primary component, if only for a moment.
func (r *Maintainer) LostPrimary() { r.gate.lost = true }

// reported is the state that others may rely on.
func (g *gate) reported(now time.Time) string {
	switch {
	case g.state == agentapi.SchedulerOn:
		return agentapi.SchedulerOn
	case g.state == agentapi.SchedulerOff && !g.claimed && now.Sub(g.off) >= offTime:
		return agentapi.SchedulerOff
	}
	return ""
}

// seen takes what was read of the server.
func (g *gate) seen(read *agentapi.Scheduled) {
	switch {
	case g.busy:
	case read.On:
		g.state = agentapi.SchedulerOn
	case g.state != agentapi.SchedulerOff:
		g.state, g.off = agentapi.SchedulerOff, time.Now()
	}
}

// CheckScheduler takes the next step about the event scheduler.
func (r *Maintainer) CheckScheduler(now time.Time) {
	g := &r.gate
	if g.busy || r.Run.Proc == nil {
		return
	}
	if g.claimed && g.visible.IsZero() && r.events.Scheduling.Published() != agentapi.SchedulerOff {
		g.visible = now
	}
	if g.state == agentapi.SchedulerOff && !g.claimed {
		g.lost = false
	}
	act, waiting := r.schedulerFacts().Next()
	g.waiting = waiting
	switch act {
	case lifecycle.SchedulerStay:
	case lifecycle.SchedulerClaim:
		g.claimed = true
	case lifecycle.SchedulerAsk:
		r.events.Scheduling.Group.Now()
	case lifecycle.SchedulerOpen:
		r.turn(r.events.Scheduling.Open, agentapi.SchedulerOn)
	case lifecycle.SchedulerClose:
		r.turn(r.events.Scheduling.Close, agentapi.SchedulerOff)
	}
}

func (r *Maintainer) schedulerFacts() lifecycle.Scheduler {
	g, s, group := &r.gate, r.Run.Status, r.events.Scheduling.Group
	f := lifecycle.Scheduler{State: g.state, Claimed: g.claimed, Answers: s != nil, Serves: r.Run.Serves(),
		Asked:  !r.Run.Leaving() && r.events.Scheduling.Asked(g.state != agentapi.SchedulerOff),
		Others: group.Views, Fresh: !g.visible.IsZero() && group.Asked.After(g.visible)}
	if s == nil {
		return f
	}
	f.Primary = s.Component == galera.ComponentPrimary && s.Ready && !g.lost
	f.ViewKnown = len(s.Group) > 0
	for _, m := range s.Group {
		if m.UUID != s.NodeUUID && !agentapi.IsArbitrator(m.Name) {
			f.View = append(f.View, m.Name)
		}
	}
	return f
}

// turn turns the scheduler on or off. One whose statement failed may be on.
func (r *Maintainer) turn(do func(context.Context) error, to string) {
	g, proc := &r.gate, r.Run.Proc
	g.busy = true
	if g.state != agentapi.SchedulerOn {
		g.state = ""
	}
	go func() {
		err := do(context.Background())
		r.loop.Post(func() {
			g.busy = false
			if r.Run.Proc != proc {
				g.state = "" // the next server has the same socket: the statement may have reached it
				return
			}
			r.scheduled.next = time.Time{} // what is reported of the events changes
			if err != nil {
				r.loop.Logger.Warn("the event scheduler could not be turned "+to, "error", err)
				return
			}
			r.loop.Logger.Info("the event scheduler is " + to)
			g.state = to
			if to == agentapi.SchedulerOff {
				g.off, g.claimed, g.visible = time.Now(), false, time.Time{}
			}
		})
	}()
}

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
