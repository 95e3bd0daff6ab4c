package arbitrator

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// uncountedTimeout is how long a garbd may run that no member counts: longer than group communication needs to
// agree on anything, and than a start that finds no member.
const uncountedTimeout = 35 * time.Second

// uncountedMessage is why such a garbd is stopped.
const uncountedMessage = "no member has counted it for too long"

// Situation is all a decision is made from.
type Situation struct {
	// Missing reports whether the image has no garbd.
	Missing bool
	// Waiting describes what is not there yet, "" when a garbd could be started.
	Waiting string
	// Draining reports whether the pod ends.
	Draining bool
	Running  bool
	// Ordered reports whether the operator wants exactly this process to end.
	Ordered bool
	// Stale reports whether it runs with other settings, or another certificate, than the present ones.
	Stale bool
	// Reloading reports whether the nodes may be loading another certificate: a handshake in that moment ends mariadbd
	// (certs.AfterReload).
	Reloading bool
	// Counted reports whether a member of a Primary component lists it; Uncounted is how long none has.
	Counted   bool
	Uncounted time.Duration
	Peers     Peers
	// Pause reports whether the last attempt has just failed.
	Pause bool
}

// Peers is what the members with data report.
type Peers struct {
	// Component reports whether there is a Primary component of two members with data or more: with fewer there is
	// nothing to arbitrate, and a vote more would only be one more to lose.
	Component bool
	// Down reports whether every member has answered, and whether none runs in a group.
	Down bool
}

// Act is what to do.
type Act string

// The acts.
const (
	Wait  Act = "Wait"
	Start Act = "Start"
	Stop  Act = "Stop"
	Exit  Act = "Exit"
)

// Step is an act and the reason for it.
type Step struct {
	Act Act
	Why string
}

// Next decides. A garbd holds no data, but by itself it may be a Primary component: the last one, when all
// others have left in good order. It would then be in the way of the component that is made of the
// data. So it is started only next to members with data, and ended when there are none.
func Next(s Situation) Step {
	switch {
	case s.Running && s.Draining:
		return Step{Stop, "the pod ends"}
	case s.Running && s.Ordered && !s.Reloading:
		return Step{Stop, "by order"}
	case s.Running && s.Peers.Down:
		return Step{Stop, "no member with data runs"}
	case s.Running && !s.Counted && s.Stale:
		return Step{Stop, "it is not counted, and runs with old settings"}
	case s.Running && !s.Counted && s.Uncounted > uncountedTimeout:
		return Step{Stop, uncountedMessage}
	case s.Running:
		return Step{Act: Wait}
	case s.Draining:
		return Step{Act: Exit}
	case s.Missing:
		return Step{Wait, "the image has no garbd"}
	case s.Waiting != "":
		return Step{Wait, s.Waiting}
	case s.Reloading:
		return Step{Wait, "waiting until the nodes have loaded their certificates"}
	case !s.Peers.Component:
		return Step{Wait, "waiting for two nodes in a Primary component"}
	case s.Pause:
		return Step{Wait, "waiting a moment after a failed attempt"}
	}
	return Step{Act: Start}
}

// summarise sums up what the members answered.
func summarise(members []agentapi.Peer, views map[string]agentapi.PeerView) Peers {
	p := Peers{Down: len(members) > 0 && len(views) == len(members)}
	for _, v := range views {
		p.Component = p.Component || v.Component == galera.ComponentPrimary && withData(v.Members) > 1
		p.Down = p.Down && v.Component == galera.ComponentUnknown
	}
	return p
}

func withData(members []string) int {
	n := 0
	for _, m := range members {
		if !agentapi.IsArbitrator(m) {
			n++
		}
	}
	return n
}

// Counted reports whether a member of a Primary component lists the process.
func Counted(views map[string]agentapi.PeerView, process string) bool {
	for _, v := range views {
		if v.Component == galera.ComponentPrimary && slices.Contains(v.Members, process) {
			return true
		}
	}
	return false
}

// Group returns the members a garbd is to dial: those in a Primary component. With dynamic sockets it is one of
// them, another one at each attempt: two that are dialled at once cannot be distinguished from plaintext ones.
func Group(members []agentapi.Peer, views map[string]agentapi.PeerView, mode galera.SocketMode,
	attempt int) []agentapi.Peer {
	var out []agentapi.Peer
	for _, m := range members {
		if v, ok := views[m.Name]; ok && v.Component == galera.ComponentPrimary && !v.Draining {
			out = append(out, m)
		}
	}
	if mode == galera.SocketDynamic && len(out) > 1 {
		return out[attempt%len(out):][:1]
	}
	return out
}
