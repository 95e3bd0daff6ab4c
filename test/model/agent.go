package model

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

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
	failureCertificate
	failureLater
	failureOther
)

var failures = [...]string{"", "ForeignClusterUUID", "HistoryDiverged", "PositionUnknown", "OrderBookDamaged",
	"ServerHung", "CertificateUnusable", "Downgrade", "OtherCluster"}

// agent is PID 1 of the member's container.
type agent struct {
	// up reports whether the container runs; uid is its pod's and boot counts its starts.
	up    bool
	boot  int16
	phase phase
	// positionUnknown reports whether the position cannot be read.
	positionUnknown bool
	failure         failure
	// loaded is the configuration the agent has read, running the one mariadbd was started with.
	loaded, running published
	// pair was taken over from the mounted volume.
	pair publication
	// doing is the order being carried out, "" when there is none.
	doing string
	// ended is the Primary view in which the last server ended without leaving it, 0 for none.
	ended int16
	// alone reports whether the server is being started as a new component.
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
func (w *platform) boot(i int) {
	n := &w.nodes[i]
	n.agent = agent{up: true, boot: n.agent.boot + 1, positionUnknown: n.agent.positionUnknown, loaded: w.api.config,
		pair: n.agent.pair}
	w.interrupt(i)
}

// killAgent ends the container and everything in it.
func (w *platform) killAgent(i int) {
	w.crash(i)
	w.nodes[i].agent.up = false
}

// stepAgent lets the agent take its next step.
func (w *agents) stepAgent(i int) bool {
	n := &w.nodes[i]
	if !n.agent.up {
		return false
	}
	if n.pod.terminating && n.agent.phase != phaseStopping {
		if n.agent.phase == phaseExamining || n.agent.phase == phaseInitialising {
			n.agent.phase = phaseWaiting // cut off
		}
		if w.decide(i, nil); !n.agent.up {
			return true
		}
	}
	if did, held := w.blockedFor(i); held {
		return did
	}
	switch n.agent.phase {
	case phaseExamining:
		w.examined(i)
	case phaseWaiting, phaseFailed, phaseStopped:
		if n.vol.book.held || n.vol.book.damaged || n.agent.positionUnknown && n.vol.data == dataPresent {
			return w.decide(i, nil) // the answers of the others change nothing
		}
		return w.decide(i, w.peerAnswers(i))
	case phaseInitialising:
		w.initialised(i)
	case phaseStarting:
		w.started(i)
	case phaseRunning:
		if n.awaitsCopy() {
			return w.giveUp(i)
		}
		return w.carryOn(i)
	case phaseStopping:
		w.stopped(i)
	}
	return true
}

// examined ends an examination of the data directory.
func (w *agents) examined(i int) {
	n := &w.nodes[i]
	w.interrupt(i)
	n.agent.doing, n.agent.phase = "", phaseWaiting
	w.decide(i, nil)
}

// interrupt ends what was being carried out, in the book.
func (w *platform) interrupt(i int) {
	if !slices.ContainsFunc(w.nodes[i].vol.book.records[:], func(r record) bool { return r.state == orderAccepted }) {
		return
	}
	w.edit(i, func(c *orders.Content) { c.Interrupt(noTime) })
}

// decide lets the agent decide on its next step, and begin it; it reports whether that changed anything. A step that
// takes time ends at a later event.
func (w *agents) decide(i int, peers map[string]agentapi.PeerView) bool {
	n := &w.nodes[i]
	if n.rare.forgetful && !n.vol.book.held {
		n.agent.positionUnknown = false
	}
	s := w.situation(i, peers)
	step := lifecycle.Next(s)
	before := n.agent
	switch step.Act {
	case lifecycle.ActStop:
		n.agent.phase, n.agent.alone = phaseStopping, false
	case lifecycle.ActExit:
		w.podGone(i)
		return true
	case lifecycle.ActInitialise:
		n.agent.phase = phaseInitialising
	case lifecycle.ActBootstrap:
		n.agent.phase, n.agent.alone = phaseStarting, true
		line := n.vol.book.find(n.agent.doing).line(w.past.position(n.vol.head))
		line.Copied = n.vol.marked && !w.unmarked
		w.edit(i, func(c *orders.Content) { c.BeginLine(line) })
	case lifecycle.ActJoin:
		for _, p := range peers {
			if p.ClusterUUID == anothersHistory {
				w.violate(JoinsAnother)
			}
		}
		if !n.records() {
			return false // the note of the join cannot be written
		}
		n.agent.phase, n.agent.failure, n.agent.alone, n.agent.running = phaseStarting, failureNone, false, n.agent.loaded
		n.vol.marked = s.Join.SST && n.vol.data == dataPresent // noted first
		n.vol.book.lines = linesOf(s.Join.Line)                // nothing here is beyond them
	default:
		if !s.Alive && s.Job == lifecycle.JobNone {
			n.agent.phase, n.agent.failure = phase(slices.Index(phases[:], step.Phase)), failureNumber(step.Failure)
			if s.Trouble != nil && step.Failure == nil {
				n.agent.failure = failureNumber(s.Trouble)
			}
		}
	}
	return n.agent != before
}

// primaryPeer is a reachable member that reports itself Primary, -1 for none.
func (w *agents) primaryPeer(i int) int {
	for j := range w.n {
		p := &w.nodes[j]
		if j != i && w.connected(i, j) && p.agent.up && p.srv.on && !p.srv.hung && p.srv.view.primary && p.srv.donor == 0 &&
			!p.pod.terminating {
			return j
		}
	}
	return -1
}

func (w *agents) initialised(i int) {
	n := &w.nodes[i]
	if r := n.vol.book.find(n.agent.doing); r == nil || r.kind != orderInitialise {
		n.agent.phase = phaseExamining // another order came: what was made is removed
		return
	}
	n.vol.data, n.vol.head, n.vol.cacheFrom = dataPresent, w.past.begin(1), 1
	n.rare.freshData()
	n.agent.phase, n.agent.alone = phaseStarting, true
}

// failStart is a start that fails after the agent has decided on it. All it wrote before stays.
func (w *agents) failStart(i int) bool {
	n := &w.nodes[i]
	if !n.agent.up || n.srv.on || n.agent.phase != phaseStarting && n.agent.phase != phaseInitialising {
		return false
	}
	n.agent.serverGone()
	w.truth.reached |= ReachedFailedStart
	return true
}

// started ends the start of mariadbd: as a new component, or in the component it meets. The decision was made when
// it began, at any earlier time.
func (w *agents) started(i int) {
	n := &w.nodes[i]
	if n.agent.alone {
		w.bootstrapped(i)
		return
	}
	peer := w.primaryPeer(i)
	if peer < 0 || !w.linked(i, peer) {
		n.agent.phase = phaseWaiting
		return
	}
	w.endTransfers(i) // those that the run before gave
	n.srv = w.newServer(i)
	n.agent.phase = phaseRunning
	n.vol.safe = false
	w.regroup(i)
}

// awaitsCopy reports whether the server was started on marked data, and has not begun to receive a copy: it does not
// answer before it has one.
func (n *node) awaitsCopy() bool { return n.srv.on && (n.vol.marked || n.vol.voted) }

// giveUp ends a server that leads nowhere, by the shipped decision: it has asked for a copy, and got nothing of it.
func (w *agents) giveUp(i int) bool {
	why, _ := lifecycle.GiveUp(lifecycle.Run{Joining: true, SST: true, Peers: w.peerAnswers(i)})
	if why != "" {
		w.drop(i)
	}
	return why != ""
}

func (w *agents) bootstrapped(i int) {
	n := &w.nodes[i]
	if n.vol.voted {
		w.violate(VotedOutStart)
	}
	n.agent.phase, n.agent.alone, n.agent.running = phaseRunning, false, n.agent.loaded
	w.endTransfers(i)
	n.srv = w.newServer(i)
	n.vol.safe, n.vol.marked = false, false
	if n.vol.book.lines[0].copied {
		w.truth.reached |= ReachedMarkedStart
	}
	if r := n.vol.book.find(n.agent.doing); r != nil {
		if r.kind == orderInitialise { // recorded before a joiner can learn of it
			line := r.line(galera.Position{UUID: w.past.position(n.vol.head).UUID})
			w.edit(i, func(c *orders.Content) { c.SetLineage(galera.FirstLine(line)) })
		}
		r.state = orderDone
		w.checkBootstrap(i, *r)
	}
	n.agent.doing = ""
	w.newView(1<<i, true)
	w.checkFormed(1 << i)
}

// carryOn is a running member's own business: a rebuilt quorum, and noticing its server's end.
func (w *agents) carryOn(i int) bool {
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
func (w *agents) adoptLines(i int) bool {
	n := &w.nodes[i]
	for j := range w.n {
		p := &w.nodes[j]
		if n.srv.view.primary && p.srv.on && p.srv.view.id == n.srv.view.id && w.connected(i, j) &&
			p.vol.book.lines[0].epoch > n.vol.book.lines[0].epoch {
			n.vol.book.lines = p.vol.book.lines
			return true
		}
	}
	return false
}

// rebuilt is pc.bootstrap: the member's present component becomes Primary as it is, at the
// position of its most advanced member.
func (w *agents) rebuilt(i int, r record) {
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

// stopped ends a graceful stop; the next step depends on its reason.
func (w *agents) stopped(i int) {
	n := &w.nodes[i]
	if n.srv.on {
		w.leave(i)
	}
	if r := n.vol.book.find(n.agent.doing); r != nil && r.state == orderAccepted {
		r.state = orderDone
	}
	n.agent.doing, n.agent.phase = "", phaseWaiting
	n.agent.positionUnknown = n.agent.positionUnknown || n.rare.forgetful && n.vol.book.held
	w.decide(i, nil)
}
