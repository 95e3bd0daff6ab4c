package model

import (
	"strconv"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Planner is plan.Plan, or a copy of it with a deliberate bug.
type Planner func(galera.Snapshot) plan.Decision

// status is the resource's status, as far as the planner sees it.
type status struct {
	version   int16
	uuid      int8
	line      string
	epoch     int64
	working   bool
	operation galera.Operation
	// stopped is the epoch of the last completed operation, if that was a Hibernate.
	stopped int64
	primary int8
	held    set
	// size is the number of members.
	size int8
	// asked is the record of what users have asked for.
	asked     asked
	abandoned abandoned
	// lostAt is the Tick, by its clock, at which an operator recorded the loss of the Primary component.
	lostAt int16
}

// hibernated is internal/observe.Hibernated in this world.
func (st *status) hibernated() bool { return !st.working && st.stopped > 0 && st.stopped == st.epoch }

// operator is one process of the operator: its caches, and nothing that has to survive.
type operator struct {
	status    status
	hibernate bool
	replicas  int8
	// config is what it knows to be published; wanted and rebootstrap are the spec's.
	config      published
	wanted      mode
	rebootstrap bool
	template    int8
	arbitrator  bool
	deployment  deployment
	trust       trust
	requests    userRequests
	certs       secrets
	pods        [maxNodes]seenPod
	reports     [maxNodes]report
	// service is seen anew when a pod is that it leads to, or led to.
	service service
	// mute are the agents this operator cannot reach.
	mute set
	// skew is how far its clock is ahead, in Ticks.
	skew int16
	waits
	// started reports whether its cache of the resource has been filled.
	started bool
	// blocked is the last decision's; advice is the approval its message asks for, deletes the pod (plus one) a user
	// is asked to delete.
	blocked bool
	advice  trust
	deletes int8
}

type seenPod struct {
	pod
	ready bool
	// bound reports whether the claim had a volume.
	bound bool
	// cordoned and unsettled: see odds.
	cordoned, unsettled bool
}

func (o *operator) clear() { *o = operator{mute: o.mute, skew: o.skew, waits: newWaits} }

// seeStatus brings the operator's cache of the resource up to date.
func (w *controllers) seeStatus(k int) {
	o := &w.ops[k]
	o.status, o.hibernate, o.trust = w.api.status, w.api.hibernate, w.api.trust
	o.requests = w.api.requests
	o.config, o.template = w.api.config, w.api.template
	o.replicas, o.arbitrator = w.api.replicas, w.api.arbitrator
	o.wanted, o.rebootstrap = w.api.wanted, w.api.rebootstrap
	if !o.started {
		o.started = true
		w.seeSecrets(k)
		for i := range w.places {
			w.seePod(k, i) // nothing is done before all caches are filled
		}
	}
}

func (w *controllers) seePod(k, i int) {
	o := &w.ops[k]
	before, creating := o.pods[i].uid, o.pods[i].beingCreated()
	o.pods[i] = seenPod{w.nodes[i].pod, w.ready(i), w.nodes[i].vol.bound, w.nodes[i].rare.cordoned,
		w.nodes[i].rare.unsettled}
	if i == w.n {
		o.deployment = w.api.deployment
	}
	if i == int(o.service.target) || i == int(w.api.service.target) {
		o.service = w.api.service
	}
	if o.pods[i].uid != before {
		o.reports[i] = report{} // another pod is another agent
	}
	if i < w.n && (o.pods[i].uid != before || o.pods[i].beingCreated() != creating) {
		o.newPods |= 1 << i
	}
}

// readReport brings the operator's knowledge of an agent up to date.
func (w *controllers) readReport(k, i int) {
	o := &w.ops[k]
	if o.mute.has(i) || o.pods[i].uid != w.nodes[i].pod.uid || !o.pods[i].exists {
		o.reports[i] = report{}
		return
	}
	o.reports[i] = w.report(i)
}

// refreshAll refreshes everything an operator can see.
func (w *controllers) refreshAll(k int) {
	w.seeStatus(k)
	w.seeSecrets(k)
	for i := range w.places {
		w.seePod(k, i)
		w.readReport(k, i)
	}
}

// snapshot is internal/observe.Snapshot in this world.
func (w *controllers) snapshot(o *operator) galera.Snapshot {
	st := &o.status
	s := galera.Snapshot{
		Namespace: "world", Name: "db", Replicas: int(o.replicas), Hibernate: o.hibernate,
		ConfigRevision: revisions[o.config.revision],
		Wanted:         encryptions[o.wanted], Published: encryptions[o.config.mode], Rebootstrap: o.rebootstrap,
		ClusterUUID: uuids[st.uuid], Line: st.line, Epoch: st.epoch, Hibernated: st.hibernated(),
		Publication: o.certs.published.name(),
		Members:     make([]galera.Member, st.size),
	}
	if st.working {
		op := st.operation
		s.Operation = &op
	}
	s.Abandoned = st.abandoned.fact()
	if st.primary != none {
		s.Primary = names[st.primary]
	}
	if o.trust.member > 0 {
		s.Approval = w.trusted(o.trust)
	}
	for i := range s.Members {
		m, p := &s.Members[i], &o.pods[i]
		m.Name, m.Ordinal, m.HeldData = names[i], i, st.held.has(i)
		m.Pod = galera.Pod{Exists: p.exists, UID: podUID(p.exists, p.uid), Terminating: p.terminating, Ready: p.ready,
			Outdated: p.exists && p.template != o.template, Waiting: p.unplaced, Creating: p.beingCreated(),
			Cordoned: p.exists && p.cordoned}
		if p.exists && p.unsettled {
			m.Pod.Unsettled = "a sidecar is not ready"
		}
		m.Unplaced = p.unplaced && !p.bound
		if p.exists {
			m.Pod.Role = roles[o.service.role(i)]
		}
		if r := o.reports[i]; r.known {
			w.fill(m, r)
			m.StaleTrust = r.server && r.trusts&^o.certs.published.trusts != 0
			if r.installed == o.certs.published {
				m.Publication = s.Publication
			}
		}
	}
	st.asked.show(&s, o)
	w.seeWaits(&s, o)
	if w.arbitrated() {
		s.Arbitrator = w.seenArbitrator(o, &s)
	}
	return s
}

// advice is the approval that a decision asks for.
func (w *controllers) advice(o *operator, d plan.Decision) trust {
	a := d.Approval
	if d.Action != nil || a == nil {
		return trust{}
	}
	i := nameNumber(a.Member)
	head := o.reports[i].head
	if w.past.position(head) != a.Position {
		w.violate(BadAdvice)
		return trust{}
	}
	return trust{int8(i + 1), head, a.Epoch, numbers(a.Without), numbers(a.Running), numbers(a.Unable)}
}

// podToDelete is the pod that a decision lets a user delete: its number plus one, or 0.
func podToDelete(d plan.Decision) int8 {
	if d.DeletePod == "" || d.Action != nil {
		return 0
	}
	return int8(nameNumber(d.DeletePod) + 1)
}

func (w *controllers) trusted(t trust) *galera.Approval {
	return &galera.Approval{Member: names[t.member-1], Position: w.past.position(t.head), Epoch: t.epoch,
		Without: nameSets[t.without], Running: nameSets[t.running], Unable: nameSets[t.unable]}
}

// crashPoint is where an operator is killed during a pass.
type crashPoint int8

const (
	noCrash crashPoint = iota
	crashBeforeActing
	crashBeforeStatus
)

// reconcile is one pass of an operator: plan, act, write the status.
func (w *controllers) reconcile(k int, planner Planner, at crashPoint) bool {
	o := &w.ops[k]
	if !o.started {
		return false
	}
	published := w.publish(o)
	w.noticePlaced(k)
	s := w.snapshot(o)
	d := planner(s)
	o.blocked, o.advice, o.deletes = d.Blocked, w.advice(o, d), podToDelete(d)
	if o.askedTooEarly(w.clock, o.advice.without, &s) {
		w.violate(Hasty)
	}
	if neverRan(o.advice.without, &s) {
		w.violate(NeverRan)
	}
	w.checkLoss(o, &s)
	w.checkDecision(s, d)
	if at == crashBeforeActing {
		o.clear()
		return true
	}
	acted := w.act(o, d.Action)
	acted = w.sendEvictions(o, s) || acted
	if at == crashBeforeStatus {
		o.clear()
		return true
	}
	return w.writeStatus(o, s, d.Action) || acted || published
}

// act carries out what reaches beyond the status.
func (w *controllers) act(o *operator, a plan.Action) bool {
	switch a := a.(type) {
	case plan.SendOrder:
		if i := w.placeOf(a.Member); i >= 0 && !o.mute.has(i) && o.pods[i].exists && o.pods[i].uid == w.nodes[i].pod.uid {
			w.send(i, order{a.ID, a.Epoch, kindNumber(a.Kind), a.Position, numbers(a.GivenUp)})
		}
	case plan.AssignRoles:
		w.api.assign(o, nameNumber(a.Primary))
	case plan.DeletePod:
		i := nameNumber(a.Member)
		if p := &w.nodes[i].pod; p.exists && p.uid == o.pods[i].uid && !o.pods[i].terminating {
			w.checkTaken(i, false)
			w.drain(i)
		}
	case plan.PublishEncryption:
		if o.config == w.api.config && modeOf(a.From) == o.config.mode { // the resource version guards it
			w.api.reconfigure(modeOf(a.To))
			o.config = w.api.config
			w.truth.reached |= ReachedSwitch
		}
	case plan.ApplyArbitrator, plan.RemoveArbitrator:
		w.api.deploy(o, a)
	default:
		return false
	}
	return true
}

// placeOf is where the agent of that name is, -1 for nowhere.
func (w *topology) placeOf(name string) int {
	if name == arbitratorName {
		return w.n
	}
	return nameNumber(name)
}

// assign moves the Service; one that has changed since it was seen ends the attempt.
func (w *apiServer) assign(o *operator, primary int) {
	if o.pods[primary].exists && o.service == w.service {
		w.service = service{int8(primary), o.service.version + 1}
	}
}

// writeStatus stores the journal entry and what was observed, unless it has changed
// since this operator read it.
func (w *controllers) writeStatus(o *operator, s galera.Snapshot, a plan.Action) bool {
	next := o.status
	w.journal(&next, a)
	w.observed(&next, o, s)
	if o.status.version != w.api.status.version {
		return false
	}
	w.noteServing(&s)
	w.noteMet(o.status.asked, next.asked)
	if next == o.status {
		return false
	}
	next.version++
	if next.size != w.api.status.size {
		w.resized(int(w.api.status.size), int(next.size))
	}
	if end, ok := a.(plan.Complete); ok {
		w.truth.countAbandoned(o.status.operation.Type, end)
		if w.anyServes() { // what the approvals were for is over
			w.truth.approved, w.truth.approvals = false, [4]trust{}
		}
	}
	w.api.status = next
	return true
}

// journal is internal/apply.Journal in this world.
func (w *controllers) journal(st *status, a plan.Action) {
	switch a := a.(type) {
	case plan.Begin:
		st.epoch, st.working, st.operation = a.Operation.Epoch, true, a.Operation
		if w.truth.losses > 0 { // epochs have repeated since: the random part of the id
			st.operation.ID += "-" + strconv.Itoa(int(w.truth.losses))
		}
	case plan.Complete:
		if !st.working {
			return
		}
		st.working = false
		if a.Line != "" {
			st.line = a.Line
		}
		if a.Size > 0 {
			st.size = int8(a.Size)
		}
		st.abandoned.remember(a, st.operation.Type)
		if !a.Abandoned {
			st.stopped = 0
			if st.operation.Type == galera.OpHibernate {
				st.stopped = st.operation.Epoch
			}
		}
		st.operation = galera.Operation{}
	case plan.Resize:
		st.size = int8(a.Size)
	case plan.RecordUUID:
		st.uuid, st.epoch = uuidNumber(a.UUID), max(st.epoch, a.Epoch)
		if a.Leap {
			st.epoch = max(st.epoch+1, 1000*int64(w.truth.losses+1))
		}
	}
}

// seenLine is internal/status.line in this world.
func seenLine(id string, s galera.Snapshot) string {
	epoch := int64(0)
	for _, m := range s.Members {
		if m.InPrimary() && m.Line > epoch {
			id, epoch = m.Lines[0], m.Line
		}
	}
	return id
}

// observed is the part of the status that the planner reads back.
func (w *controllers) observed(st *status, o *operator, s galera.Snapshot) {
	for i, m := range s.Members {
		if m.Known && m.Position.UUID != "" && m.Position.UUID != galera.ZeroUUID {
			st.held |= 1 << i
		}
		if o.pods[i].exists && o.service.role(i) == rolePrimary {
			st.primary = int8(i)
		}
	}
	st.line = seenLine(st.line, s)
	st.asked.follow(o, s)
	st.held &= 1<<st.size - 1 // only members are remembered
	st.lostAt = tickOf(s.NoPrimarySince)
}
