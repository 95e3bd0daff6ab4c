package process

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// offTime is how long a scheduler is off before that is reported: events are for whole seconds, and another server must
// not run what this one has run in the same second.
const offTime = time.Second

// Task is something that the server of one member carries out at most.
type Task struct {
	// Name is as in lifecycle.Exclusive.
	Name string
	// Asked reports whether the task is this member's; unknown is the answer while an agent that has replaced another one
	// does not know yet.
	Asked func(unknown bool) bool
	// Published returns the state in the report that others read, StateOf the one in the answer of another member.
	Published func() string
	StateOf   func(agentapi.PeerView) string
	// Open and Close turn it on and off.
	Open, Close func(context.Context) error
	// Pause is for how long it is off before that is reported.
	Pause time.Duration
	// Turned is called after either.
	Turned func()
}

// Gate decides whether the server carries out a task. Event loop only.
type Gate struct {
	Task
	group *api.Peers
	run   *Supervisor
	loop  eventloop.Loop

	busy bool
	// state is agentapi.TaskOff, TaskOn, or "" while it is not known: an agent before may have turned it on.
	state string
	// off is since when it is off.
	off time.Time
	// claimed reports whether this member no longer reports Off; visible is since when the others can see that.
	claimed bool
	visible time.Time
	// lost reports whether the component was not Primary for a moment: another one may have gone on meanwhile.
	lost    bool
	waiting string
	// failed is why the task could not be turned on or off, since it was last.
	failed string
}

// NewGate returns the gate of a task.
func NewGate(loop eventloop.Loop, run *Supervisor, group *api.Peers, task Task) Gate {
	return Gate{Task: task, group: group, run: run, loop: loop}
}

// set forgets what was known of an earlier server.
func (g *Gate) set(state string) {
	*g = Gate{Task: g.Task, group: g.group, run: g.run, loop: g.loop, busy: g.busy, state: state}
}

// Launched is called for a new server: by its option file the task is off.
func (g *Gate) Launched() {
	g.set(agentapi.TaskOff)
	g.off = time.Now()
}

// TakenOver is called after Launched for a server that another agent has started: the task may be on.
func (g *Gate) TakenOver() { g.set("") }

// LostPrimary is called when the server has left the Primary component, if only for a moment.
func (g *Gate) LostPrimary() { g.lost = true }

// Busy reports whether the task is being turned on or off.
func (g *Gate) Busy() bool { return g.busy }

// On reports whether the task is on.
func (g *Gate) On() bool { return g.state == agentapi.TaskOn && !g.busy }

// Waiting returns what the task waits for.
func (g *Gate) Waiting() string { return g.waiting }

// Reported is the state that others may rely on.
func (g *Gate) Reported(now time.Time) string {
	switch {
	case g.run.Proc == nil:
		return agentapi.TaskOff
	case g.state == agentapi.TaskOn:
		return agentapi.TaskOn
	case g.state == agentapi.TaskOff && !g.claimed && now.Sub(g.off) >= g.Pause:
		return agentapi.TaskOff
	}
	return ""
}

// See takes what was read of the server.
func (g *Gate) See(on bool) {
	switch {
	case g.busy:
	case on:
		g.state = agentapi.TaskOn
	case g.state != agentapi.TaskOff:
		g.state, g.off = agentapi.TaskOff, time.Now()
	}
}

// Check takes the next step.
func (g *Gate) Check(now time.Time) {
	if g.busy || g.run.Proc == nil {
		return
	}
	if g.claimed && g.visible.IsZero() && g.Published() != agentapi.TaskOff {
		g.visible = now
	}
	if g.state == agentapi.TaskOff && !g.claimed {
		g.lost = false
	}
	act, waiting := g.facts().Next()
	g.waiting = waiting
	switch act {
	case lifecycle.ExclusiveStay:
	case lifecycle.ExclusiveClaim:
		g.claimed = true
	case lifecycle.ExclusiveAsk:
		g.group.Now()
	case lifecycle.ExclusiveOpen:
		g.turn(g.Open, agentapi.TaskOn)
	case lifecycle.ExclusiveClose:
		g.turn(g.Close, agentapi.TaskOff)
	}
}

func (g *Gate) facts() lifecycle.Exclusive {
	s := g.run.Status
	f := lifecycle.Exclusive{Task: g.Name, State: g.state, Claimed: g.claimed, Answers: s != nil, Serves: g.run.Serves(),
		Asked:  !g.run.Leaving() && g.Asked(g.state != agentapi.TaskOff),
		Others: map[string]string{}, Fresh: !g.visible.IsZero() && g.group.Asked.After(g.visible)}
	for name, view := range g.group.Views {
		f.Others[name] = g.StateOf(view)
	}
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

// Again opens a task that is on once more.
func (g *Gate) Again() {
	if g.On() {
		g.turn(g.Open, agentapi.TaskOn)
	}
}

// turn turns the task on or off. One whose statement failed may be on.
func (g *Gate) turn(do func(context.Context) error, to string) {
	proc := g.run.Proc
	g.busy = true
	if g.state != agentapi.TaskOn {
		g.state = ""
	}
	go func() {
		err := do(context.Background())
		g.loop.Post(func() {
			g.busy = false
			if g.run.Proc != proc {
				g.state = "" // the next server has the same socket: the statement may have reached it
				return
			}
			g.Turned()
			if err != nil {
				g.warn(to, err)
				return
			}
			g.loop.Logger.Info("the " + g.Name + " is " + to)
			g.state, g.failed = to, ""
			if to == agentapi.TaskOff {
				g.off, g.claimed, g.visible = time.Now(), false, time.Time{}
			}
		})
	}()
}

// warn logs why the task could not be turned on or off. It is tried again, without a pause: the same reason is logged
// once.
func (g *Gate) warn(to string, err error) {
	failed := to + ": " + err.Error()
	if failed == g.failed {
		return
	}
	g.failed = failed
	g.loop.Logger.Warn("the "+g.Name+" could not be turned "+to, "error", err)
}
