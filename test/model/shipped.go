package model

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// This file translates the world's facts into the input of the shipped decisions of the agent, and what they return
// back.

// later is any positive duration: its length does not matter here.
const later = time.Second

var noTime time.Time

// situation is what the agent's next step is decided from, peers being the answers of the other agents.
func (w *agents) situation(i int, peers map[string]agentapi.PeerView) lifecycle.Situation {
	n := &w.nodes[i]
	b := &n.vol.book
	s := lifecycle.Situation{Draining: n.pod.terminating, Held: b.held && !b.damaged, Examined: true}
	if b.damaged {
		s.StartUnavailable = &agentapi.Failure{Reason: agentapi.FailureOrderBook}
	}
	if f := n.cannotStart(); f != nil && s.StartUnavailable == nil {
		s.StartUnavailable = f
	}
	if n.agent.positionUnknown && n.vol.data == dataPresent {
		s.Examined, s.ExamineIn = false, later
		s.Trouble = &agentapi.Failure{Reason: agentapi.FailureRecovery}
	}
	doing := b.find(n.agent.doing)
	s.Restart = doing != nil && doing.kind == orderRestart
	switch n.agent.phase {
	case phaseExamining:
		s.Job = lifecycle.JobExamine
	case phaseInitialising:
		s.Job = lifecycle.JobInitialise
	case phaseStarting:
		s.Alive = true
	case phaseRunning:
		s.Alive, s.Answers = true, !n.srv.hung && !n.awaitsCopy()
	case phaseStopping:
		s.Alive, s.Stopping = true, true
	default:
		if doing != nil && (doing.kind == orderInitialise || doing.kind == orderBootstrap) {
			s.Form = agentOrders[doing.kind]
		}
		s.Join = w.judgeJoin(i, peers)
	}
	return s
}

// judgeJoin is the agent's shipped decision whether its member may join the peers that answered, and with which donor.
func (w *agents) judgeJoin(i int, peers map[string]agentapi.PeerView) lifecycle.JoinDecision {
	v := &w.nodes[i].vol
	self := lifecycle.Joiner{Data: dataStates[v.data], Position: w.past.position(v.head), Marked: v.marked || v.voted}
	if w.api.status.uuid != 0 {
		self.History = uuids[w.api.status.uuid]
	}
	if len(peers) > 0 {
		self.Lineage = v.book.lines.lineage(self.Position.UUID)
	}
	decision := lifecycle.JudgeJoin(self, peers)
	if decision.Join {
		decision = lifecycle.AwaitDonor(decision, "", decision.SST, peers, lifecycle.DonorPreferences{})
	}
	return decision
}

// peerAnswers returns the answers of the other agents, if this one asks them now; nil if none answers.
func (w *agents) peerAnswers(i int) map[string]agentapi.PeerView {
	var out map[string]agentapi.PeerView
	for j := range w.n {
		if j == i || !w.connected(i, j) {
			continue
		}
		v, answers := w.answerOf(j)
		if answers && (w.gullible || api.Believe(own, names[j], v)) {
			if out == nil {
				out = make(map[string]agentapi.PeerView, w.n)
			}
			out[names[j]] = v
		}
	}
	return out
}

// peerView is what the member's agent reports to the others.
func (w *agents) peerView(j int) agentapi.PeerView {
	r := w.report(j)
	n := &w.nodes[j]
	v := agentapi.PeerView{Name: names[j], Cluster: own, Data: dataStates[r.data], Draining: r.draining,
		Primary: w.api.service.role(j) == rolePrimary}
	if !r.positionUnknown {
		v.Position = w.past.position(r.head)
	}
	if r.server {
		v.Component, v.State, v.ClusterUUID = galera.ComponentNonPrimary, states[r.state], uuids[r.uuid]
		if r.view.primary {
			v.Component = galera.ComponentPrimary
		}
		if w.donates(j) {
			v.Donation = &agentapi.Donation{Kind: agentapi.JoinSST}
		}
		if r.view.primary {
			v.Lineage = n.vol.book.lines.lineage(v.ClusterUUID) // of no other one it counts
		}
	}
	if doing := n.vol.book.find(n.agent.doing); doing != nil {
		// One that is over is reported as such, though its end cannot be recorded; so is one whose server was killed.
		over := n.srv.killed || !n.srv.on && n.agent.phase != phaseStarting && n.agent.phase != phaseInitialising
		v.Forming = !over && orders.MakesPrimary(agentOrders[doing.kind])
	}
	return v
}

// judgeOrder is the agent's own judgement of an order. One that makes a member Primary is also judged by the answers of
// the others, in half of the schedules: in the other half none answers.
func (w *agents) judgeOrder(i int, o agentapi.Order) orders.Judgement {
	n := &w.nodes[i]
	f := orders.Facts{
		Examined: n.agent.phase != phaseExamining && n.agent.phase != phaseInitialising && !n.agent.positionUnknown,
		Data:     dataStates[n.vol.data], Position: w.past.position(n.believed()),
		Alive: n.srv.on || n.agent.phase == phaseStarting || n.agent.phase == phaseInitialising ||
			n.agent.phase == phaseStopping,
	}
	if why := n.cannotStart(); why != nil {
		f.Blocked = why.Reason
	}
	if n.srv.on && !n.srv.hung && !n.awaitsCopy() && n.agent.phase == phaseRunning {
		f.Server = &agentapi.Server{Component: galera.ComponentNonPrimary}
		if n.srv.view.primary {
			f.Server.Component = galera.ComponentPrimary
		}
	}
	if doing := n.vol.book.find(n.agent.doing); doing != nil {
		f.Current = &agentapi.Order{ID: doing.id, Kind: agentOrders[doing.kind]}
	}
	if w.hears && orders.MakesPrimary(o.Kind) {
		for _, p := range w.peerAnswers(i) {
			f.Peers = append(f.Peers, p)
		}
	}
	return orders.Judge(o, n.vol.book.content(w.past.position(n.vol.head).UUID), nil, f)
}

// edit changes the order book as the agent does.
func (w *database) edit(i int, change func(*orders.Content)) {
	b := &w.nodes[i].vol.book
	c := b.content(w.past.position(w.nodes[i].vol.head).UUID)
	change(&c)
	b.take(c)
}

var agentOrders = [...]agentapi.OrderKind{agentapi.OrderInitialise, agentapi.OrderBootstrap,
	agentapi.OrderRebuildQuorum,
	agentapi.OrderRestart, agentapi.OrderStop, agentapi.OrderStart}

var agentStates = [...]agentapi.OrderState{"", agentapi.OrderAccepted, agentapi.OrderDone, agentapi.OrderRefused,
	agentapi.OrderFailed}

// content is the book as the agent has it, of data with a UUID.
func (b *book) content(uuid string) orders.Content {
	c := orders.Content{HighestEpoch: b.highest, Held: b.held, Lineage: b.lines.lineage(uuid),
		Formed: orders.FormedBy{Epoch: b.formedEpoch, ID: b.formedID}}
	c.Records = make([]agentapi.OrderRecord, 0, remembered+1)
	for k := len(b.records) - 1; k >= 0; k-- {
		if r := b.records[k]; r.state != orderNone {
			c.Records = append(c.Records, agentapi.OrderRecord{State: agentStates[r.state],
				Order: agentapi.Order{ID: r.id, Epoch: r.epoch, Kind: agentOrders[r.kind]}})
		}
	}
	return c
}

// take stores in the book what the agent wrote.
func (b *book) take(c orders.Content) {
	b.highest, b.held, b.formedEpoch, b.formedID = c.HighestEpoch, c.Held, c.Formed.Epoch, c.Formed.ID
	b.lines = linesOf(c.Lineage)
	b.records = [remembered]record{}
	for k := range min(len(c.Records), remembered) {
		r := &c.Records[len(c.Records)-1-k]
		b.records[k] = record{r.ID, r.Epoch, orderKind(slices.Index(agentOrders[:], r.Kind)),
			orderState(slices.Index(agentStates[:], r.State))}
	}
}

// unknownBefore stands behind the first line of a history of which no earlier one is known (galera.Lineage.Earlier is
// nil).
const unknownBefore = -1

// lineage are the lines as the agents have them.
func (l *lines) lineage(uuid string) galera.Lineage {
	line := func(x lineage) galera.Line {
		return galera.Line{ID: x.id, Epoch: x.epoch, Start: galera.Position{UUID: uuid, Seqno: int64(x.start)},
			Copied: x.copied}
	}
	if l[0].epoch == 0 {
		return galera.Lineage{}
	}
	out := galera.Lineage{Line: line(l[0])}
	if l[1].epoch == unknownBefore {
		return out
	}
	out.Earlier = make([]galera.Line, 0, len(l)-1)
	for _, x := range l[1:] {
		if x.epoch == 0 {
			break
		}
		out.Earlier = append(out.Earlier, line(x))
	}
	return out
}

func linesOf(g galera.Lineage) (l lines) {
	for k, x := range galera.Forget(g.Lines(), len(l)) {
		l[k] = lineage{x.ID, x.Epoch, int8(x.Start.Seqno), x.Copied}
	}
	if g.Epoch != 0 && g.Earlier == nil {
		l[1].epoch = unknownBefore
	}
	return l
}

// failureNumber is what is reported to the operator for a reason.
func failureNumber(f *agentapi.Failure) failure {
	if f == nil {
		return failureNone
	}
	if k := slices.Index(failures[:], f.Reason); k > 0 {
		return failure(k)
	}
	panic("model: a failure the world does not know: " + f.Reason)
}
