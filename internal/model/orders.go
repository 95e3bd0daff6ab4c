package model

import (
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

type orderKind int8

const (
	orderInitialise orderKind = iota
	orderBootstrap
	orderRebuild
	orderRestart
	orderStop
	orderStart
)

var orderKinds = [...]plan.OrderKind{plan.OrderInitialise, plan.OrderBootstrap, plan.OrderRebuildQuorum,
	plan.OrderRestart, plan.OrderStop, plan.OrderStart}

func kindNumber(k plan.OrderKind) orderKind {
	for i, known := range orderKinds {
		if known == k {
			return orderKind(i)
		}
	}
	panic("model: unknown order kind " + string(k))
}

// order is an order on its way.
type order struct {
	id       string
	epoch    int64
	kind     orderKind
	position galera.Position
	givenUp  set
}

// message is an order in the network, for one run of one agent: what is under way to a
// container dies with it.
type message struct {
	used bool
	to   int8
	boot int16
	order
}

func (w *World) send(to int, o order) {
	for k := range w.wire {
		if !w.wire[k].used {
			w.wire[k] = message{true, int8(to), w.nodes[to].agent.boot, o}
			return
		}
	}
}

// deliver hands a message over; with keep a copy of it stays on the way.
func (w *World) deliver(k int, keep bool) bool {
	m := w.wire[k]
	if !m.used {
		return false
	}
	if !keep {
		w.wire[k] = message{}
	}
	if n := &w.nodes[m.to]; n.agent.up && n.agent.boot == m.boot && !n.pod.terminating {
		if int(m.to) == w.n {
			w.endOrdered(m.order)
			return true
		}
		w.obey(int(m.to), m.order)
	}
	return true
}

// obey is the agent's judgement of an order.
func (w *World) obey(i int, o order) {
	n := &w.nodes[i]
	b := &n.vol.book
	if b.damaged || !n.records() || b.find(o.id) != nil || o.epoch < b.highest {
		return
	}
	if n.trouble == lookHangs && n.agent.phase == phaseExamining {
		w.obeyUnseen(i, o)
		return
	}
	if n.agent.phase == phaseExamining || n.agent.doing != "" && o.kind != orderStop {
		return // busy: not recorded
	}
	r := record{id: o.id, epoch: o.epoch, kind: o.kind, state: orderAccepted}
	if !w.allowed(i, o) {
		r.state = orderRefused
		b.put(r)
		return
	}
	if cut := b.find(n.agent.doing); cut != nil {
		cut.state = orderFailed
	}
	b.put(r)
	w.carryOut(i, o)
}

func (w *World) allowed(i int, o order) bool {
	n := &w.nodes[i]
	b := &n.vol.book
	switch o.kind {
	case orderInitialise:
		return !w.formedAlready(b, o) && w.idle(i) && n.vol.data == dataEmpty
	case orderBootstrap:
		return !w.formedAlready(b, o) && w.idle(i) && n.vol.data == dataPresent && !n.agent.blurred &&
			o.position.Known() && w.past.position(n.vol.head) == o.position && w.lookAllows(i, o)
	case orderRebuild:
		p := w.past.position(n.vol.head)
		return n.agent.phase == phaseRunning && n.srv.on && !n.srv.hung && !n.srv.view.primary &&
			o.position.Known() && p.UUID == o.position.UUID && p.Seqno >= o.position.Seqno && w.lookAllows(i, o)
	case orderRestart:
		return !b.held
	}
	return true
}

func (w *World) formedAlready(b *book, o order) bool {
	return b.formedID != "" && b.formedEpoch == o.epoch && b.formedID != o.id
}

// idle says that mariadbd does not run and is not on its way up or down.
func (w *World) idle(i int) bool {
	n := &w.nodes[i]
	return !n.srv.on && (n.agent.phase == phaseWaiting || n.agent.phase == phaseStopped || n.agent.phase == phaseFailed)
}

func (w *World) carryOut(i int, o order) {
	n := &w.nodes[i]
	b := &n.vol.book
	n.agent.doing = o.id
	switch o.kind {
	case orderInitialise, orderBootstrap:
		b.held, b.formedEpoch, b.formedID = false, o.epoch, o.id
		b.lines.add(lineage{o.epoch, w.past.seqno(n.vol.head)})
		n.agent.phase, n.agent.alone = phaseStarting, true
		if o.kind == orderInitialise {
			n.agent.phase = phaseInitialising
		}
	case orderRebuild:
		b.lines.add(lineage{o.epoch, w.past.seqno(n.srv.received)})
	case orderStop, orderRestart:
		b.held = b.held || o.kind == orderStop
		w.checkTaken(i, o.kind == orderStop)
		n.agent.phase, n.agent.alone = phaseStopping, false
	case orderStart:
		b.held = false
		b.records[0].state = orderDone
		n.agent.doing = ""
		if n.agent.phase == phaseStopped {
			n.agent.phase = phaseExamining
		}
	}
}
