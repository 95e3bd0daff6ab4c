package model

import "github.com/galera-operator/galera-operator/internal/galera"

// report is an agent's report to an operator.
type report struct {
	known           bool
	boot            int16
	phase           phase
	data            dataState
	head            write
	ended           int16
	positionUnknown bool
	marked          bool
	safe, draining  bool
	server, stuck   bool
	view            view
	state           int8
	uuid            int8
	queue           int8
	lines           lines
	loaded, running published
	verified        bool
	last            record
	failure         failure
	installed, pair publication
	trusts          cas
	garbd           int16
	cannot          int8
	run             int16
	// states of rare_states.go
	voted, lacks, copying, upgrading, unnamed bool
}

const (
	stateJoining int8 = iota
	stateDonor
	stateJoined
	stateSynced
)

var states = [...]galera.NodeState{galera.NodeJoining, galera.NodeDonor, galera.NodeJoined, galera.NodeSynced}

// report is the report of the member's agent now.
func (w *platform) report(i int) report {
	n := &w.nodes[i]
	if !n.agent.up || !n.pod.exists {
		return report{}
	}
	r := report{
		known: true, boot: n.agent.boot, phase: n.agent.phase, data: n.vol.data, head: n.believed(),
		positionUnknown: n.agent.positionUnknown && !n.srv.on || n.agent.phase == phaseExamining,
		marked:          n.vol.marked && !n.srv.on,
		safe:            n.vol.safe, draining: n.pod.terminating || n.agent.phase == phaseStopping,
		lines: n.vol.book.lines, loaded: n.agent.loaded, running: n.agent.running, last: n.vol.book.records[0],
		failure: n.agent.failure,
	}
	if n.vol.book.damaged {
		r.lines, r.last, r.failure = lines{}, record{}, failureBook
	}
	r.installed = n.agent.pair
	r.voted = n.vol.voted && !n.srv.on
	r.lacks, r.copying, r.upgrading, r.unnamed = n.rare.lacks, n.rare.copying, n.rare.upgrading, n.rare.unnamed
	if i == w.n {
		r.garbd = w.garbd.process
	}
	if i < w.n {
		r.cannot = w.cannot(i)
	}
	if n.srv.hung {
		if r.phase == phaseRunning {
			r.phase = phaseStarting
		}
		return r
	}
	if n.awaitsCopy() {
		r.phase = phaseStarting
		return r
	}
	if n.srv.on {
		r.pair, r.trusts = n.srv.pair, n.srv.trusts
		r.server, r.view, r.state, r.run = true, n.srv.view, w.state(i), n.srv.run
		r.uuid = w.past.uuid(n.srv.received)
		r.queue = w.past.seqno(n.srv.received) - w.past.seqno(n.vol.head)
		r.verified, r.stuck = w.verified(i), n.srv.stuck && r.state == stateDonor
	} else {
		r.running, r.ended = r.loaded, n.agent.ended
	}
	return r
}

func (w *database) state(i int) int8 {
	n := &w.nodes[i]
	switch {
	case n.srv.donor != 0 || !n.srv.view.primary:
		return stateJoining
	case n.srv.stuck, w.donates(i):
		return stateDonor
	case n.vol.head != n.srv.received:
		return stateJoined
	}
	return stateSynced
}

var names = [maxNodes]string{"db-0", "db-1", "db-2", "db-3", "db-4"}

func nameNumber(name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

var nameSets = func() (out [1 << maxNodes][]string) {
	for s := range out {
		for i, n := range names {
			if set(s).has(i) {
				out[s] = append(out[s], n)
			}
		}
	}
	return out
}()

// revisions are the names of configuration revisions.
var revisions = [...]string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"}

func (w *controllers) fill(m *galera.Member, r report) {
	m.Known = true
	m.Phase, m.Data = phases[r.phase], dataStates[r.data]
	if r.phase == phaseExamining {
		m.Data = galera.DataUnknown
	}
	if !r.positionUnknown {
		m.Position = w.past.position(r.head)
	}
	m.Line, m.Lines, m.Marked = r.lines[0].epoch, r.lines.ids(), r.marked
	m.SafeToBootstrap, m.Draining = r.safe && !r.server, r.draining
	m.ConfigLoaded, m.RestartNeeded = revisions[r.loaded.revision], r.loaded != r.running
	m.DynamicSockets, m.LinksVerified = true, r.verified
	if r.last.state != orderNone {
		m.Order = &galera.Order{ID: r.last.id, Epoch: r.last.epoch, Kind: string(orderKinds[r.last.kind]),
			State: orderStates[r.last.state]}
	}
	if r.failure != failureNone {
		m.Failure = &galera.Failure{Reason: failures[r.failure], Message: failures[r.failure]}
		m.BookDamaged = r.failure == failureBook
	}
	m.CannotAct = inabilities[r.cannot]
	fillRareStates(m, r)
	if r.ended != 0 {
		m.Ended = &galera.Ended{NodeUUID: m.Name, ViewID: int64(r.ended)}
	}
	if !r.server {
		return
	}
	in := r.view.members
	if w.arbitrated() {
		in &^= 1 << w.n
	}
	m.Running, m.StuckDonor = encryptions[r.running.mode], r.stuck
	m.Server = &galera.Server{
		Component: galera.ComponentNonPrimary, State: states[r.state], ClusterUUID: uuids[r.uuid],
		ViewID: int64(r.view.id), Size: in.len(), Members: nameSets[in], ReceiveQueue: int64(r.queue),
	}
	if r.unnamed {
		m.Server.Members = nil
	}
	if r.view.primary {
		m.Server.Component = galera.ComponentPrimary
	}
}
