package model

import (
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
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

// order is an order in flight.
type order struct {
	id       string
	epoch    int64
	kind     orderKind
	position galera.Position
	givenUp  set
}

// message is an order in the network, for one run of one agent: an order in flight to a
// container is lost with it.
type message struct {
	used bool
	to   int8
	boot int16
	order
}

func (w *cluster) send(to int, o order) {
	for k := range w.wire {
		if !w.wire[k].used {
			w.wire[k] = message{true, int8(to), w.nodes[to].agent.boot, o}
			return
		}
	}
}

// deliver hands a message over; with keep a copy of it stays on the way.
func (w *cluster) deliver(k int, keep bool) bool {
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
		w.handleOrder(int(m.to), m.order)
	}
	return true
}

// handleOrder gives an order to the agent, which judges it and begins its execution.
func (w *agents) handleOrder(i int, o order) {
	n := &w.nodes[i]
	b := &n.vol.book
	if b.damaged || !n.records() {
		return
	}
	order := agentapi.Order{ID: o.id, Epoch: o.epoch, Kind: agentOrders[o.kind], Position: o.position,
		GivenUp: nameSets[o.givenUp]}
	v := w.judgeOrder(i, order)
	switch v.Decision {
	case orders.Refuse:
		w.edit(i, func(c *orders.Content) { c.Refuse(order, v.Message, noTime) })
	case orders.Accept:
		if cut := b.find(n.agent.doing); cut != nil {
			cut.state = orderFailed
		}
		w.edit(i, func(c *orders.Content) { c.Accept(order, noTime) })
		w.carryOut(i, o, order)
	}
}

// carryOut begins the execution of an accepted order.
func (w *agents) carryOut(i int, o order, order agentapi.Order) {
	n := &w.nodes[i]
	b := &n.vol.book
	n.agent.doing = o.id
	switch o.kind {
	case orderRebuild:
		start := w.past.position(n.srv.received)
		w.edit(i, func(c *orders.Content) { c.BeginLine(order.Line(start)) })
	case orderStop, orderRestart:
		w.checkTaken(i, o.kind == orderStop)
	case orderStart:
		b.records[0].state = orderDone
		n.agent.doing = ""
	}
	w.decide(i, nil)
	if stop := o.kind == orderStop || o.kind == orderRestart; stop && n.agent.phase != phaseStopping &&
		n.agent.phase != phaseInitialising {
		b.records[0].state = orderDone // nothing runs
		n.agent.doing = ""
	}
}
