package model

import "github.com/galera-operator/galera-operator/internal/galera"

type phase int8

const (
	phaseExamining phase = iota
	phaseWaiting
	phaseInitialising
	phaseStarting
	phaseRunning
	phaseStopping
	phaseStopped
	phaseFailed
)

var phases = [...]galera.Phase{galera.PhaseExamining, galera.PhaseWaiting, galera.PhaseInitialising,
	galera.PhaseStarting, galera.PhaseRunning, galera.PhaseStopping, galera.PhaseStopped, galera.PhaseFailed}

type failure int8

const (
	failureNone failure = iota
	failureForeign
	failureDiverged
	failurePosition
	failureBook
	failureHung
)

var failures = [...]string{"", "ForeignClusterUUID", "HistoryDiverged", "PositionUnknown", "OrderBookDamaged", "ServerHung"}

// agent is PID 1 of the member's container.
type agent struct {
	// up says that the container runs; uid is its pod's and boot counts its starts.
	up    bool
	boot  int16
	phase phase
	// blurred says that the position cannot be read.
	blurred bool
	failure failure
	// loaded is the configuration the agent has read, running the one mariadbd was started with.
	loaded, running published
	// pair was taken over from the mounted volume.
	pair publication
	// doing is the order being carried out, "" when there is none.
	doing string
	// ended is the Primary view in which the last server ended without leaving it, 0 for none.
	ended int16
	// alone says that the server is being started as a new component.
	alone bool
}

// serverGone is what the agent does when mariadbd ends by itself.
func (a *agent) serverGone() {
	if a.up {
		a.phase, a.alone = phaseWaiting, false
		if a.doing != "" {
			a.phase = phaseExamining // ends the order, too
		}
	}
}

// boot starts the agent on its volume.
func (w *World) boot(i int) {
	n := &w.nodes[i]
	n.agent = agent{up: true, boot: n.agent.boot + 1, blurred: n.agent.blurred, loaded: w.api.config, pair: n.agent.pair}
	n.vol.book.interrupt()
}

// killAgent ends the container and everything in it.
func (w *World) killAgent(i int) {
	w.crash(i)
	w.nodes[i].agent.up = false
}

// stepAgent lets the agent do the next thing it would do by itself.
func (w *World) stepAgent(i int) bool {
	n := &w.nodes[i]
	if !n.agent.up {
		return false
	}
	if n.pod.terminating {
		n.agent.phase, n.agent.alone = phaseStopping, false
	}
	if did, held := w.heldUp(i); held {
		return did
	}
	switch n.agent.phase {
	case phaseExamining:
		w.examined(i)
	case phaseWaiting, phaseFailed:
		return w.maybeJoin(i)
	case phaseInitialising:
		w.initialised(i)
	case phaseStarting:
		w.started(i)
	case phaseRunning:
		return w.carryOn(i)
	case phaseStopping:
		w.stopped(i)
	default:
		return false
	}
	return true
}

func (w *World) examined(i int) {
	n := &w.nodes[i]
	n.vol.book.interrupt()
	n.agent.doing = ""
	n.agent.failure, n.agent.phase = failureNone, phaseWaiting
	switch {
	case n.agent.blurred && n.vol.data == dataPresent:
		n.agent.failure, n.agent.phase = failurePosition, phaseFailed
	case n.vol.book.damaged:
		n.agent.failure, n.agent.phase = failureBook, phaseFailed
	case n.vol.book.held:
		n.agent.phase = phaseStopped
	}
}

// maybeJoin is the rule for starting without an order: only towards a Primary peer.
func (w *World) maybeJoin(i int) bool {
	n := &w.nodes[i]
	peer := w.primaryPeer(i)
	if peer < 0 || n.pod.terminating || n.agent.failure == failurePosition || n.vol.book.damaged || !n.records() {
		return false
	}
	p := &w.nodes[peer]
	before := n.agent
	n.agent.failure = w.unfit(&n.vol, p)
	if n.agent.failure != failureNone {
		n.agent.phase = phaseFailed
		return n.agent != before
	}
	n.agent.phase, n.agent.alone, n.agent.running = phaseStarting, false, n.agent.loaded
	n.vol.book.lines = p.vol.book.lines // nothing here is beyond them
	return true
}

// unfit says why a volume must not join the component of p.
func (w *World) unfit(v *volume, p *node) failure {
	if v.data != dataPresent {
		return failureNone
	}
	switch {
	case w.past.uuid(v.head) != w.past.uuid(p.srv.received):
		return failureForeign
	case p.vol.book.lines.diverges(&v.book.lines, w.past.seqno(v.head)):
		return failureDiverged
	}
	return failureNone
}

// primaryPeer is a member that can be reached and says of itself that it is Primary, -1 for none.
func (w *World) primaryPeer(i int) int {
	for j := range w.n {
		p := &w.nodes[j]
		if j != i && w.reach(i, j) && p.agent.up && p.srv.on && !p.srv.hung && p.srv.view.primary && p.srv.donor == 0 && !p.pod.terminating {
			return j
		}
	}
	return -1
}

func (w *World) initialised(i int) {
	n := &w.nodes[i]
	n.vol.data, n.vol.head, n.vol.cacheFrom = dataPresent, w.past.begin(1), 1
	n.agent.phase, n.agent.alone = phaseStarting, true
}

// started ends the start of mariadbd: as a new component, or in the component it meets.
func (w *World) started(i int) {
	n := &w.nodes[i]
	if n.agent.alone {
		w.bootstrapped(i)
		return
	}
	peer := w.primaryPeer(i)
	if peer < 0 || !w.linked(i, peer) || w.unfit(&n.vol, &w.nodes[peer]) != failureNone {
		n.agent.phase = phaseWaiting
		return
	}
	n.srv = w.newServer(i)
	n.agent.phase = phaseRunning
	n.vol.safe = false
	w.regroup(i)
}

func (w *World) bootstrapped(i int) {
	n := &w.nodes[i]
	n.agent.phase, n.agent.alone, n.agent.running = phaseRunning, false, n.agent.loaded
	n.srv = w.newServer(i)
	n.vol.safe = false
	if r := n.vol.book.find(n.agent.doing); r != nil {
		r.state = orderDone
		w.checkBootstrap(i, *r)
	}
	n.agent.doing = ""
	w.newView(1<<i, true)
	w.checkFormed(1 << i)
}

// carryOn is a running member's own business: a rebuilt quorum, and noticing its server's end.
func (w *World) carryOn(i int) bool {
	n := &w.nodes[i]
	if !n.srv.on {
		n.agent.serverGone()
		return true
	}
	if n.agent.failure == failureHung {
		n.agent.failure = failureNone
	}
	if w.adoptLines(i) {
		return true
	}
	if n.agent.doing == "" {
		return false
	}
	r := n.vol.book.find(n.agent.doing)
	n.agent.doing = ""
	if r == nil || n.srv.view.primary {
		if r != nil {
			r.state = orderFailed
		}
		return true
	}
	r.state = orderDone
	w.rebuilt(i, *r)
	return true
}

// adoptLines takes over what a member of the same Primary component knows of its history.
func (w *World) adoptLines(i int) bool {
	n := &w.nodes[i]
	for j := range w.n {
		p := &w.nodes[j]
		if n.srv.view.primary && p.srv.on && p.srv.view.id == n.srv.view.id && w.reach(i, j) && p.vol.book.lines[0].epoch > n.vol.book.lines[0].epoch {
			n.vol.book.lines = p.vol.book.lines
			return true
		}
	}
	return false
}

// rebuilt is pc.bootstrap: the member's present component becomes Primary as it is, at the
// position of its most advanced member.
func (w *World) rebuilt(i int, r record) {
	v := w.nodes[i].srv.view
	if !w.whole(v) {
		return // nothing is agreed on while the group is changing
	}
	best := i
	for j := range w.n {
		if v.members.has(j) && w.past.seqno(w.nodes[j].srv.received) > w.past.seqno(w.nodes[best].srv.received) {
			best = j
		}
	}
	group := w.nodes[best].srv.received
	w.checkBootstrap(best, r)
	w.newView(v.members, true)
	if w.arbitrated() && v.members.has(w.n) {
		w.nodes[w.n].srv.received = group
	}
	for j := range w.n {
		if !v.members.has(j) {
			continue
		}
		if n := &w.nodes[j]; n.srv.received != group && n.srv.donor == 0 {
			w.receive(j, best, group)
		}
	}
	w.checkFormed(v.members)
}

// stopped ends a graceful stop; what comes next depends on who asked for it.
func (w *World) stopped(i int) {
	n := &w.nodes[i]
	if n.srv.on {
		w.leave(i)
	}
	if r := n.vol.book.find(n.agent.doing); r != nil && r.state == orderAccepted {
		r.state = orderDone
	}
	n.agent.doing = ""
	n.agent.phase = phaseWaiting
	switch {
	case n.pod.terminating:
		w.podGone(i)
	case n.vol.book.held:
		n.agent.phase = phaseStopped
	}
}
