package lifecycle

import (
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// SchedulerAct is what is done next about a member's event scheduler.
type SchedulerAct int

// What follows from a Scheduler.
const (
	// SchedulerStay: nothing.
	SchedulerStay SchedulerAct = iota
	// SchedulerClaim: no longer report Off, so that no other member opens its own.
	SchedulerClaim
	// SchedulerAsk: ask the others again.
	SchedulerAsk
	// SchedulerOpen: turn the scheduler on.
	SchedulerOpen
	// SchedulerClose: turn it off, and report Off a second later.
	SchedulerClose
)

// Scheduler is what a member knows when it decides whether its server runs events.
//
// At most one scheduler runs in a group, however late messages are: a member first stops reporting Off, and only then
// asks the others. Of two members that do so at once, each sees the other, and both wait until the operator
// reports the same primary to both.
type Scheduler struct {
	// Asked reports whether the operator wants events to run here: this member is the primary, and is not to stop.
	Asked bool
	// Answers reports whether the server answers, Primary whether it is part of a Primary component and ready, Serves
	// whether it is Synced as well.
	Answers, Primary, Serves bool
	// State is what is known of the own scheduler: SchedulerOff, SchedulerOn, or "".
	State string
	// Claimed reports whether the others can see that this member is not Off.
	Claimed bool
	// ViewKnown reports whether View are the other members of the component, arbitrators left out.
	ViewKnown bool
	View      []string
	// Fresh reports whether Others answer a question that was asked after the claim was visible.
	Fresh  bool
	Others map[string]agentapi.PeerView
}

// Next returns what follows, and what a member that is asked to run events waits for.
func (f Scheduler) Next() (act SchedulerAct, waiting string) {
	switch {
	case !f.Answers:
		return SchedulerStay, ""
	case !f.Asked || !f.Primary:
		if f.State == agentapi.SchedulerOff && !f.Claimed {
			return SchedulerStay, ""
		}
		return SchedulerClose, ""
	case f.State == "":
		return SchedulerStay, "the state of this server's event scheduler is not known yet"
	case f.State == agentapi.SchedulerOn:
		if other := f.running(); other != "" {
			return SchedulerClose, "the event scheduler of " + other + " runs"
		}
		return SchedulerStay, ""
	case !f.Serves:
		return SchedulerStay, "this server is not Synced"
	case !f.Claimed:
		return SchedulerClaim, "the other members are asked whether their event schedulers are off"
	}
	return f.open()
}

// running returns another member of the component whose scheduler runs, "" for none.
func (f Scheduler) running() string {
	for _, name := range f.View {
		if f.Others[name].Scheduler == agentapi.SchedulerOn {
			return name
		}
	}
	return ""
}

// open decides for a member that has claimed the scheduler.
func (f Scheduler) open() (SchedulerAct, string) {
	if !f.ViewKnown {
		return SchedulerAsk, "the members of the component are not known yet"
	}
	var silent, on []string
	for _, name := range slices.Sorted(slices.Values(f.View)) {
		switch v, answers := f.Others[name]; {
		case !answers:
			silent = append(silent, name)
		case v.Scheduler != agentapi.SchedulerOff:
			on = append(on, name)
		}
	}
	switch {
	case len(f.View) == 0: // there is no other one to ask
		return SchedulerOpen, ""
	case !f.Fresh:
		return SchedulerAsk, "the other members are asked whether their event schedulers are off"
	case len(on) > 0:
		return SchedulerAsk, "the event scheduler of " + strings.Join(on, ", ") + " has not been turned off"
	case len(silent) > 0:
		return SchedulerAsk, "whether the event scheduler of " + strings.Join(silent, ", ") +
			" is off is not known: its agent does not answer"
	}
	return SchedulerOpen, ""
}
