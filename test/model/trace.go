package model

import (
	"fmt"
	"strings"
)

// Trace runs a schedule and its convergence, and returns them as a story: every event that
// happened, every decision, and the world after it.
func Trace(s Schedule, p Planner, rounds int) string {
	var b strings.Builder
	w := s.world()
	fmt.Fprintf(&b, "begin\n%s", w.String())
	for _, e := range s.Events {
		if w.Step(e, p) {
			w.trace(&b, e.String(), p)
		}
	}
	keep := -1
	if s.Stays {
		keep = w.stuckMember()
	}
	w.calm(keep)
	for round := 0; round < rounds && !w.arrived() && w.truth.violation == ""; round++ {
		w.Round(p)
		if round%10 == 9 {
			w.help()
		}
		w.trace(&b, "round", p)
	}
	return b.String()
}

func (w *World) trace(b *strings.Builder, what string, p Planner) {
	fmt.Fprintf(b, "--- %s\n%s", what, w)
	for k := range w.ops {
		if w.ops[k].started {
			o := w.ops[k] // a Snapshot moves its clocks
			d := p(w.snapshot(&o))
			fmt.Fprintf(b, "  operator %d: next %+v %s: %s\n", k, d.Action, d.Reason, d.Message)
		}
	}
	if w.truth.violation != "" {
		fmt.Fprintf(b, "  BROKEN: %s\n", w.truth.violation)
	}
}

// String draws the world, one line per member.
func (w *World) String() string {
	var b strings.Builder
	if w.arbitrated() {
		fmt.Fprintf(&b, "  %s\n", w.arbitratorString())
	}
	for i := range w.n {
		n := &w.nodes[i]
		fmt.Fprintf(&b, "  %s side %d %s %s@%d", names[i], w.side[i], dataStates[n.vol.data], short(w.past.uuid(n.vol.head)),
			w.past.seqno(n.vol.head))
		switch {
		case n.away:
			b.WriteString(" [machine away]")
		case n.pod.unplaced:
			b.WriteString(" [no host]")
		case n.pod.creating:
			b.WriteString(" [image is pulled]")
		case !n.pod.exists:
			b.WriteString(" [no pod]")
		case !n.agent.up:
			b.WriteString(" [container down]")
		default:
			fmt.Fprintf(&b, " %s %s%s", phases[n.agent.phase], failures[n.agent.failure], roles[w.api.service.role(i)])
		}
		if n.trouble != fit || n.srv.hung {
			fmt.Fprintf(&b, " [%s hung=%t killed=%t]", troubles[n.trouble], n.srv.hung, n.srv.killed)
		}
		if n.pod.terminating {
			b.WriteString(" terminating")
		}
		if n.srv.on {
			fmt.Fprintf(&b, " view %d %03b primary=%t received %d %s", n.srv.view.id, n.srv.view.members, n.srv.view.primary,
				w.past.seqno(n.srv.received), states[w.state(i)])
		}
		if r := n.vol.book.records[0]; r.state != orderNone {
			fmt.Fprintf(&b, " {%s %s}", r.id, orderStates[r.state])
		}
		b.WriteString("\n")
	}
	st := &w.api.status
	fmt.Fprintf(&b, "  status: uuid %s epoch %d operation %s stopped %d held %03b; hibernate %t trust %v\n",
		short(st.uuid), st.epoch, st.operation.ID, st.stopped, st.held, w.api.hibernate, w.api.trust)
	for _, m := range w.wire {
		if m.used {
			fmt.Fprintf(&b, "  on the way to %s: %s %s\n", w.nameOf(int(m.to)), m.id, m.position)
		}
	}
	return b.String()
}

// nameOf is the name of the agent in that place.
func (w *topology) nameOf(i int) string {
	if i == w.n {
		return arbitratorName
	}
	return names[i]
}

func (w *cluster) arbitratorString() string {
	n := &w.nodes[w.n]
	s := fmt.Sprintf("%s wanted=%t %+v side %d pod=%t up=%t terminating=%t", arbitratorName, w.api.arbitrator,
		w.api.deployment, w.side[w.n], n.pod.exists, n.agent.up, n.pod.terminating)
	if n.srv.on {
		s += fmt.Sprintf(" %s view %d %03b primary=%t stale=%t", garbdName(w.garbd.process), n.srv.view.id,
			n.srv.view.members, n.srv.view.primary, w.stale())
	}
	return s
}

func short(uuid int8) string { return string("-abcdefghijklmnopqrstuvwxyz"[uuid]) }
