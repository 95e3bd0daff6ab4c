package lifecycle

import (
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// ExclusiveAct is what is done next about a task that one member of a group carries out at most.
type ExclusiveAct int

// What follows from an Exclusive.
const (
	// ExclusiveStay: nothing.
	ExclusiveStay ExclusiveAct = iota
	// ExclusiveClaim: no longer report Off, so that no other member begins.
	ExclusiveClaim
	// ExclusiveAsk: ask the others again.
	ExclusiveAsk
	// ExclusiveOpen: turn the task on.
	ExclusiveOpen
	// ExclusiveClose: turn it off, and report Off afterwards.
	ExclusiveClose
)

// Exclusive is what a member knows when it decides whether its server carries out a task that one member of the group
// carries out at most: it runs the scheduled events, or the channel of a source.
//
// At most one does, however late messages are: a member first stops reporting Off, and only then asks the others. Of
// two members that do so at once, each sees the other, and both wait until they agree on whose task it is.
type Exclusive struct {
	// Task names it in messages, for instance "event scheduler".
	Task string
	// Asked reports whether the task is this member's, and the member is not to stop.
	Asked bool
	// Answers reports whether the server answers, Primary whether it is part of a Primary component and ready, Serves
	// whether it is Synced as well.
	Answers, Primary, Serves bool
	// State is what is known of the own server: agentapi.TaskOff, TaskOn, or "".
	State string
	// Claimed reports whether the others can see that this member is not Off.
	Claimed bool
	// ViewKnown reports whether View are the other members of the component, arbitrators left out.
	ViewKnown bool
	View      []string
	// Fresh reports whether Others answer a question that was asked after the claim was visible.
	Fresh bool
	// Others are the states that the members report that have answered.
	Others map[string]string
}

// Next returns what follows, and what a member whose task it is waits for.
func (f Exclusive) Next() (act ExclusiveAct, waiting string) {
	switch {
	case !f.Answers:
		return ExclusiveStay, ""
	case !f.Asked || !f.Primary:
		if f.State == agentapi.TaskOff && !f.Claimed {
			return ExclusiveStay, ""
		}
		return ExclusiveClose, ""
	case f.State == "":
		return ExclusiveStay, "the state of this server's " + f.Task + " is not known yet"
	case f.State == agentapi.TaskOn:
		if other := f.running(); other != "" {
			return ExclusiveClose, "the " + f.Task + " of " + other + " runs"
		}
		return ExclusiveStay, ""
	case !f.Serves:
		return ExclusiveStay, "this server is not Synced"
	case !f.Claimed:
		return ExclusiveClaim, "the other members are asked whether their " + f.Task + " is off"
	}
	return f.open()
}

// running returns another member of the component that carries out the task, "" for none.
func (f Exclusive) running() string {
	for _, name := range f.View {
		if f.Others[name] == agentapi.TaskOn {
			return name
		}
	}
	return ""
}

// open decides for a member that has claimed the task.
func (f Exclusive) open() (ExclusiveAct, string) {
	if !f.ViewKnown {
		return ExclusiveAsk, "the members of the component are not known yet"
	}
	var silent, on []string
	for _, name := range slices.Sorted(slices.Values(f.View)) {
		switch state, answers := f.Others[name]; {
		case !answers:
			silent = append(silent, name)
		case state != agentapi.TaskOff:
			on = append(on, name)
		}
	}
	switch {
	case len(f.View) == 0: // there is no other one to ask
		return ExclusiveOpen, ""
	case !f.Fresh:
		return ExclusiveAsk, "the other members are asked whether their " + f.Task + " is off"
	case len(on) > 0:
		return ExclusiveAsk, "the " + f.Task + " of " + strings.Join(on, ", ") + " has not been turned off"
	case len(silent) > 0:
		return ExclusiveAsk, "whether the " + f.Task + " of " + strings.Join(silent, ", ") +
			" is off is not known: its agent does not answer"
	}
	return ExclusiveOpen, ""
}
