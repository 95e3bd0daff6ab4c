package model

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// trouble is a fault of a member's storage.
type trouble int8

const (
	fit trouble = iota
	// examinationHangs: the examination of the data directory does not end.
	examinationHangs
	// frozen: nothing that writes goes on, nor can it be killed.
	frozen
	// protected: the volume is read-only.
	protected
	// unkillable: a server that hangs cannot be killed.
	unkillable
)

var troubles = [...]string{"", "look hangs", "frozen", "read-only", "undying"}

var inabilities = [...]galera.Inability{galera.Able, galera.Hung, galera.Killed, galera.SlowExamination, galera.Frozen,
	galera.ReadOnly}

// dies reports whether a process on such storage ends when it is killed.
func (t trouble) dies() bool { return t != frozen && t != unkillable }

// records reports whether the agent can write its order book.
func (n *node) records() bool { return n.trouble != frozen && n.trouble != protected }

// cannot is the agent's reason why it cannot act, as an index into inabilities.
func (w *database) cannot(i int) int8 {
	n := &w.nodes[i]
	switch {
	case n.srv.killed:
		return 2
	case n.trouble == frozen:
		return 4
	case n.trouble == protected:
		return 5
	case n.srv.hung && n.agent.failure == failureHung:
		return 1
	case n.trouble == examinationHangs && n.agent.phase == phaseExamining:
		return 3
	}
	return 0
}

// setAgentFault begins or ends a fault in which a member answers and cannot act.
func (w *agents) setAgentFault(i int, k Kind) bool {
	n := &w.nodes[i]
	switch k {
	case Hang, HangHard:
		if !n.srv.on || n.srv.hung || n.srv.donor != 0 {
			return false
		}
		n.srv.hung = true
		if k == HangHard {
			n.trouble = unkillable
		}
	case LookHangs:
		n.trouble = examinationHangs
	case Freeze:
		n.trouble = frozen
	case Protect:
		n.trouble = protected
		if n.srv.on {
			w.drop(i) // InnoDB aborts
		} else if n.agent.phase == phaseStarting || n.agent.phase == phaseInitialising {
			n.agent.phase, n.agent.alone = phaseExamining, false
		}
	default:
		return w.release(i)
	}
	w.truth.reached |= ReachedStuck
	return true
}

// release ends all that keeps a member from acting.
func (w *group) release(i int) bool {
	n := &w.nodes[i]
	did := n.trouble != fit || n.srv.hung
	n.trouble, n.srv.hung = fit, false
	if n.srv.killed {
		w.crash(i)
		if n.agent.up {
			n.agent.phase = phaseExamining
		}
	}
	return did
}

// blockedFor is the agent's step while its storage or its server keeps it from its usual one.
func (w *agents) blockedFor(i int) (did, held bool) {
	n := &w.nodes[i]
	switch {
	case n.srv.killed:
		n.agent.phase = phaseStopping
		return false, true
	case n.srv.hung && n.agent.phase == phaseStopping, n.trouble == frozen && n.srv.on && n.agent.phase == phaseStopping:
		w.kill(i)
		return true, true
	case n.srv.hung:
		did = n.agent.failure != failureHung
		n.agent.failure = failureHung
		return did, true
	case n.trouble == examinationHangs && n.agent.phase == phaseExamining && n.agent.doing != "":
		w.interrupt(i) // a Stop cuts the check off; what was begun before it has failed
		n.agent.doing = ""
		return true, true
	case n.trouble == examinationHangs:
		return false, n.agent.phase == phaseExamining
	case n.trouble == frozen:
		return false, n.agent.phase != phaseRunning && n.agent.phase != phaseWaiting && n.agent.phase != phaseStopping
	}
	return false, false
}

// kill sends SIGKILL to a server that does not stop in time.
func (w *agents) kill(i int) {
	n := &w.nodes[i]
	w.crash(i)
	n.srv.hung = n.srv.on
	if n.srv.on {
		return
	}
	n.agent.phase, n.agent.failure = phaseExamining, failureNone
	if n.pod.terminating {
		w.podGone(i)
	}
}

// numbers is the set of the members named.
func numbers(list []string) (out set) {
	for _, name := range list {
		if i := nameNumber(name); i >= 0 {
			out |= 1 << i
		}
	}
	return out
}

// stuckMember is a member whose agent answers and which cannot act, or whose pod has no host or waits for its image; -1
// when there is none.
func (w *cluster) stuckMember() int {
	for i := range w.size() {
		if n := &w.nodes[i]; (n.trouble != fit || n.srv.hung || n.rare.unfit != 0 && !n.srv.on ||
			n.rare.forgetful) && n.agent.up || n.full && n.pod.unplaced || n.rare.slowImage && n.pod.creating {
			return i
		}
	}
	return -1
}

// maxRoundsWithout is how many Rounds the others may take without one member. A container that is being created has ten
// minutes after each loss of the Primary component. There may be two: the second one when the only node with data stays
// a donor and is restarted.
const maxRoundsWithout = maxRounds + longLoss

// continueWithout lets the world run with one member that still cannot act: the others have to continue, by themselves
// or by the printed approval, as far as their data allow it.
func (w *World) continueWithout(p Planner) {
	keep := w.stuckMember()
	if keep < 0 {
		return
	}
	w.calm(keep)
	without := w.truth.reached&ReachedApproval == 0
	for round := range maxRoundsWithout {
		if w.truth.violation != "" || !w.nodes[keep].agent.up && !w.nodes[keep].pod.unplaced &&
			!w.nodes[keep].pod.creating ||
			w.healthyExcept(keep) && !w.mayRepeat(keep) {
			if without && w.truth.reached&ReachedApproval != 0 && w.truth.violation == "" {
				w.truth.reached |= ReachedWithoutStuck
			}
			return
		}
		w.watch(p)
		if round%10 == 9 {
			w.help()
		}
	}
	if !w.nothingWithout(keep) {
		w.violate(HeldUp)
	}
}

// mayRepeat reports whether a switch goes on that the member makes the operator abandon.
func (w *World) mayRepeat(keep int) bool {
	n := &w.nodes[keep]
	ill := n.rare.unfit != 0 || n.trouble != fit || n.srv.hung || n.full || n.rare.slowImage
	return n.rare.forgetful && !ill && w.api.config.mode != w.api.wanted && !w.ops[0].blocked
}

// healthyExcept reports whether all is well but for one member.
func (w *cluster) healthyExcept(keep int) bool {
	if w.api.hibernate {
		return w.api.status.hibernated()
	}
	gives := false
	for i := range w.size() {
		gives = gives || i != keep && w.serves(i)
	}
	if !gives && w.nodes[keep].trouble == frozen && w.serves(keep) {
		return true // only it holds what the others lack, and none can join before it can be a donor
	}
	for i := range w.size() {
		if n := &w.nodes[i]; i != keep && !w.synced(i) && !n.srv.stuck && !w.donates(i) {
			return false
		}
	}
	return w.anyServes() || w.size() == 1
}

// nothingWithout reports whether without one member there are no data to go on from, and whether the operator reports
// so.
func (w *World) nothingWithout(keep int) bool {
	own := slices.ContainsFunc(w.nodes[:w.size()], func(n node) bool {
		return n.vol.data == dataPresent && !n.vol.voted && !n.vol.book.damaged &&
			w.past.uuid(n.vol.head) == w.api.status.uuid
	})
	others := false
	for i := range w.size() {
		v := &w.nodes[i].vol
		others = others || i != keep && v.data == dataPresent && !v.voted && !v.book.damaged &&
			w.past.uuid(v.head) == w.api.status.uuid
	}
	return w.ops[0].blocked && (!others || !own || w.api.status.uuid == 0)
}
