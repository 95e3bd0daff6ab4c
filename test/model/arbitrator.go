package model

import (
	"slices"
	"strconv"
	"time"

	voter "github.com/galera-operator/galera-operator/internal/agent/arbitrator"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// arbitratorName is its Deployment's, and its agent's.
const arbitratorName = "db-arbitrator"

// deployment is the arbitrator's, as the API server has it.
type deployment struct {
	exists bool
	// scheduled reports whether it is to have a pod.
	scheduled bool
	template  int8
}

// garbd is the arbitrator apart from its place among the nodes, the last one: its pod, agent and server
// are those of a node without a volume. What its server has received is the group's position, which a garbd
// knows; it has none of the data.
type garbd struct {
	// process numbers the garbds: it is the one that runs, or ran last.
	process int16
	// ordered is the process that was ordered to end.
	ordered int16
	// counted is the Tick at which a member counted it, or at which it was started.
	counted int16
}

// arbitrated reports whether there may be an arbitrator in this world.
func (w *topology) arbitrated() bool { return w.places > w.n }

// admits is what the API admits: an even number of members has an arbitrator, an odd one none.
func (w *platform) admits(replicas int) {
	w.api.replicas = int8(replicas)
	w.api.arbitrator = w.arbitrated() && replicas%2 == 0
}

// stepDeployment lets the Deployment's controller and the kubelet take their next step for the arbitrator.
func (w *platform) stepDeployment() bool {
	n, d := &w.nodes[w.n], w.api.deployment
	wanted := d.exists && d.scheduled
	switch {
	case n.away:
		return false
	case !n.pod.exists && wanted:
		w.uids++
		n.pod = pod{exists: true, template: d.template, uid: w.uids}
		n.agent.pair = w.api.certs.published
		w.boot(w.n)
	case n.pod.exists && !n.pod.terminating && (!wanted || n.pod.template != d.template):
		return w.drain(w.n)
	case n.pod.exists && n.pod.terminating && !n.agent.up:
		w.podGone(w.n)
	case n.pod.exists && !n.agent.up:
		w.boot(w.n)
	default:
		return false
	}
	return true
}

// stepArbitrator lets the arbitrator's agent take its next step, by its shipped decision.
func (w *cluster) stepArbitrator() bool {
	n := &w.nodes[w.n]
	if !n.agent.up {
		return false
	}
	peers, counted := w.members()
	if counted {
		w.truth.reached |= ReachedArbitrator
	}
	seen := counted && w.garbd.counted != w.clock
	if counted {
		w.garbd.counted = w.clock
	}
	switch voter.Next(voter.Situation{
		Draining: n.pod.terminating, Running: n.srv.on, Ordered: w.garbd.ordered == w.garbd.process,
		Stale: n.srv.on && w.stale(), Counted: counted, Uncounted: time.Duration(w.clock-w.garbd.counted) * 10 * time.Second,
		Peers: peers,
	}).Act {
	case voter.Start:
		w.garbd.process++
		w.garbd.counted = w.clock
		n.agent.running = n.agent.loaded
		n.srv = w.newServer(w.n)
	case voter.Stop:
		w.endGarbd()
	case voter.Exit:
		w.podGone(w.n)
	default:
		return seen
	}
	return true
}

// members returns what the members answer the arbitrator's agent: arbitrator.Summarise and agent.Counted in this world.
func (w *cluster) members() (p voter.Peers, counted bool) {
	p.Down = true
	for j := range w.size() {
		n := &w.nodes[j]
		if !w.connected(w.n, j) || !n.agent.up {
			p.Down = false
			continue
		}
		v := n.srv.view
		if !n.srv.on || n.srv.donor != 0 || v.id == 0 {
			continue // it answers, and its server does not
		}
		p.Down = false
		p.Component = p.Component || v.primary && (v.members&^(1<<w.n)).len() > 1
		counted = counted || v.primary && w.nodes[w.n].srv.on && v.garbd == w.garbd.process
	}
	return p, counted
}

// stale reports whether garbd would be started otherwise now.
func (w *database) stale() bool {
	n := &w.nodes[w.n]
	return n.agent.running != n.agent.loaded || n.srv.pair != n.agent.pair
}

// endGarbd ends it in good order: the others go on without it.
func (w *group) endGarbd() {
	n := &w.nodes[w.n]
	v := n.srv.view
	reported := w.whole(v)
	n.srv = server{}
	if rest := v.members &^ (1 << w.n); reported && rest != 0 {
		w.newView(rest, v.primary)
	}
}

// tick is ten seconds. An agent decides more often than that: a garbd that is in no node's view ends once its limit has
// passed.
func (w *cluster) tick() {
	w.clock++
	if w.arbitrated() && w.nodes[w.n].srv.on {
		w.uncounted()
	}
}

// uncounted lets the arbitrator's agent ask which members count garbd, and stop it when none has for too long.
func (w *cluster) uncounted() {
	if _, counted := w.members(); counted || w.clock-w.garbd.counted > 3 {
		w.stepArbitrator()
	}
}

// outlive stops a garbd that no member counts: the event that follows takes longer than its limit.
func (w *cluster) outlive() {
	if w.arbitrated() && w.nodes[w.n].srv.on {
		if _, counted := w.members(); !counted {
			w.endGarbd()
		}
	}
}

// meetArbitrator is for nodes that join a Primary component of garbd alone. It has no donor: a node at exactly the
// component's position continues, any other server aborts.
func (w *group) meetArbitrator(present set) {
	group := w.nodes[w.n].srv.received
	for j := range w.n {
		n := &w.nodes[j]
		if present.has(j) && (n.vol.data != dataPresent || n.vol.head != group) {
			w.drop(j)
		}
	}
}

func garbdName(process int16) string { return "arbitrator." + strconv.Itoa(int(process)) }

// seenArbitrator is internal/observe.arbitration in this world.
func (w *controllers) seenArbitrator(o *operator, s *galera.Snapshot) *galera.Arbitrator {
	d, p, r := o.deployment, &o.pods[w.n], &o.reports[w.n]
	if !d.exists && !o.arbitrator && !p.exists {
		return nil
	}
	a := &galera.Arbitrator{Name: arbitratorName, Wanted: o.arbitrator, Deployed: d.exists, Scheduled: d.exists &&
		d.scheduled,
		Outdated: d.exists && d.template != o.template}
	if !p.exists {
		return a
	}
	a.Pod = galera.Pod{Exists: true, Terminating: p.terminating, Ready: true, Outdated: !d.exists ||
		p.template != d.template}
	if !r.known {
		return a
	}
	a.Known = true
	a.ConfigLoaded, a.DynamicSockets, a.LinksVerified = revisions[r.loaded.revision], true, r.verified
	if r.installed == o.certs.published {
		a.Publication = s.Publication
	}
	if !r.server {
		return a
	}
	a.Process, a.Running = garbdName(r.garbd), encryptions[r.running.mode]
	a.RestartNeeded = r.running != r.loaded || r.pair != r.installed
	for i := range s.Members {
		m := &o.reports[i]
		a.Counted = a.Counted || m.server && m.view.primary && m.view.garbd == r.garbd
	}
	return a
}

// arbitratorUse is internal/observe.arbitratorUse in this world.
func (w *controllers) arbitratorUse(o *operator) (u galera.CertificateUse, ok bool) {
	if !w.arbitrated() || !o.pods[w.n].exists && !o.deployment.scheduled {
		return u, false
	}
	u.Name = arbitratorName
	if r := &o.reports[w.n]; r.known && o.pods[w.n].exists {
		u.Loaded = r.installed == o.certs.published && (!r.server || r.pair == r.installed)
		u.Serves = u.Loaded
	}
	return u, true
}

// deploy applies or removes the Deployment, as planned.
func (w *apiServer) deploy(o *operator, a plan.Action) {
	switch a := a.(type) {
	case plan.ApplyArbitrator:
		w.deployment = deployment{exists: true, scheduled: a.Running, template: o.template}
	case plan.RemoveArbitrator:
		w.deployment = deployment{}
	}
}

// settled reports whether the arbitrator is as the spec asks.
func (w *cluster) settled() bool {
	if !w.arbitrated() {
		return true
	}
	n, d := &w.nodes[w.n], w.api.deployment
	if !w.api.arbitrator {
		return !d.exists && !n.pod.exists
	}
	_, counted := w.members()
	return counted && !w.stale() && n.agent.running == w.api.config && w.renewed(w.n) &&
		d.template == w.api.template && n.pod.template == d.template && !n.pod.terminating
}

// endOrdered is the agent's judgement of an order: it ends the garbd that is named, and no other one.
func (w *cluster) endOrdered(o order) {
	if w.nodes[w.n].srv.on && o.kind == orderRestart && o.id == garbdName(w.garbd.process) {
		w.garbd.ordered = w.garbd.process
		w.truth.reached |= ReachedEndedArbitrator
	}
}

// checkArbitrator judges what takes the arbitrator down while a component serves, by what the operator could see.
// It leaves first when all nodes are to be stopped.
func (w *truth) checkArbitrator(s galera.Snapshot, a plan.Action) {
	taken := false
	switch a := a.(type) {
	case plan.SendOrder:
		taken = a.Member == arbitratorName
	case plan.ApplyArbitrator:
		taken = s.Arbitrator.Scheduled && (!a.Running || s.Arbitrator.Outdated)
	case plan.RemoveArbitrator:
		taken = true
	}
	if !taken || s.Hibernate || s.Operation != nil && s.Operation.Step == "Rebootstrap" || !slices.ContainsFunc(s.Members,
		galera.Member.InPrimary) {
		return
	}
	for _, m := range s.Members {
		if !m.Synced() {
			w.violate(ArbitratorTaken)
		}
	}
}
