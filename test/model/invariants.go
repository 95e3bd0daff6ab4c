package model

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// The promises; docs/model.md explains them.
const (
	TwoBootstraps   = "two bootstraps in one epoch"
	TwoPrimaries    = "two Primary components at once"
	BehindAnother   = "bootstrapped a position behind another member's"
	NotBootstrap    = "bootstrapped data that are empty, foreign or incomplete"
	LostWrite       = "an acknowledged write is lost"
	Unapproved      = "went on without an acknowledged write and without approval"
	TwoTaken        = "two members taken down by the operator at once"
	TakenWhileWeak  = "a healthy member taken down while another was not Synced"
	WriterTaken     = "the writer taken down before the role had moved"
	TouchedSplit    = "acted while two components were Primary"
	SilentDivergent = "a member with other write-sets of the same numbers joined unnoticed"
	EvictedAlive    = "a member that runs was evicted"
	Stuck           = "does not converge"
	Disorderly      = "hibernated before the members were stopped in order"
	BadAdvice       = "a person is asked to approve a position that no member has"
	MixedMembership = "a strict and a plain member in one membership"
	NewHistory      = "a second history was begun"
	UntrustedLeaf   = "a certificate is presented that a member does not trust"
	CADropped       = "a CA is dropped while a member presents a certificate of it"
	RemovedRunning  = "a member removed that still ran"
	ArbitratorTaken = "the arbitrator taken down while a node was not Synced"
	WithoutVote     = "a node taken down while the arbitrator was not counted"
	HeldUp          = "one member that cannot act holds up the rest"
	HalfStatement   = "a member with a part of a statement, or without one that the others have, joined without a full " +
		"copy"
	PrimaryUnfit = "the primary's role was given to a node that does not serve"
	RemovedAhead = "a member removed that alone holds an acknowledged write"
)

// checkAlways checks the promises that hold in every state.
func (w *cluster) checkAlways() {
	if w.truth.violation != "" || w.truth.split {
		return
	}
	w.checkTrust()
	var serving int16
	for i := range w.places {
		n := &w.nodes[i]
		if i < w.n && w.truth.taken.has(i) && (i >= w.size() || w.synced(i) || w.api.hibernate) {
			w.truth.taken &^= 1 << i
		}
		if !n.srv.on || !n.srv.view.primary || n.srv.view.id == serving || !w.whole(n.srv.view) {
			continue
		}
		if serving != 0 {
			w.violate(TwoPrimaries)
		}
		serving = n.srv.view.id
	}
}

// checkBootstrap judges the moment in which an order makes a component out of the member.
func (w *platform) checkBootstrap(i int, r record) {
	w.note(r.kind)
	slot := &w.truth.formed[r.epoch%int64(len(w.truth.formed))]
	if slot.epoch == r.epoch && r.kind != orderRebuild {
		w.violate(TwoBootstraps)
	}
	*slot = formedBy{r.epoch, int8(i)}
	n := &w.nodes[i]
	if n.cannotStart() != nil && r.kind != orderRebuild {
		w.violate(UnfitStart)
	}
	if r.kind == orderInitialise && n.rare.lacks && w.size() > 1 {
		w.violate(NoDonor)
	}
	head := n.vol.head
	if n.srv.on {
		head = n.srv.received
	}
	if n.vol.data != dataPresent || head == 0 {
		w.violate(NotBootstrap)
		return
	}
	uuid := w.past.uuid(head)
	if r.kind != orderInitialise && w.api.status.uuid != 0 && uuid != w.api.status.uuid {
		w.violate(NotBootstrap)
	}
	if r.kind == orderInitialise && w.api.status.uuid != 0 && w.api.status.uuid != uuid {
		w.violate(NewHistory)
	}
	trusted := w.approves(i, r.epoch, n.vol.head)
	for j := range w.size() {
		other := w.furthest(j)
		// a user gave up its further write-sets
		given := w.nodes[j].vol.book.lines[0].epoch < n.vol.book.lines.before(r.epoch)
		if !trusted && !given && w.past.uuid(other) == uuid && w.past.seqno(other) > w.past.seqno(head) {
			w.violate(BehindAnother)
		}
	}
	w.checkWrites(head, trusted, Unapproved)
}

// furthest is the last write-set the member has, on its disk or received.
func (w *database) furthest(j int) write {
	n := &w.nodes[j]
	if n.srv.on && n.srv.donor == 0 {
		return n.srv.received
	}
	if n.vol.data == dataPresent {
		return n.vol.head
	}
	return 0
}

// approves reports whether the last approval, or the one of the order's epoch, names the member at that position, for
// the present outage.
func (w *platform) approves(i int, epoch int64, head write) bool {
	names := func(t trust) bool { return int(t.member) == i+1 && t.head == head }
	given := w.truth.approvals[epoch%int64(len(w.truth.approvals))]
	return w.truth.approved && (names(w.api.trust) || given.epoch == epoch && names(given))
}

// checkWrites looks for acknowledged write-sets that head does not include. With accepted, a
// user has approved their loss.
func (w *database) checkWrites(head write, accepted bool, what string) {
	for ws := write(1); ws <= w.past.used; ws++ {
		e := &w.past.table[ws]
		if !e.acked || e.gone || w.past.includes(head, ws) {
			continue
		}
		if !accepted {
			w.violate(what)
			return
		}
		e.gone = true
	}
}

// checkFormed judges a Primary component that was just formed out of the members.
func (w *database) checkFormed(members set) {
	best := write(0)
	for j := range w.places {
		if s := &w.nodes[j].srv; members.has(j) && s.on && s.donor == 0 && s.received > best {
			best = s.received
		}
	}
	if best != 0 && !w.truth.split {
		w.checkWrites(best, false, LostWrite)
	}
}

// checkAsleep judges the removal of the pods of a hibernated cluster. One member may have come
// back unseen; two have not been stopped at all. No order can be kept when the status was set back to that of a
// hibernated cluster, in which Kubernetes has no pods.
func (w *platform) checkAsleep() {
	on := 0
	for i := range w.n {
		if w.nodes[i].vol.book.highest > w.api.status.epoch {
			return
		}
		if s := &w.nodes[i].srv; s.on && !s.killed && !w.nodes[i].pod.terminating {
			on++
		}
	}
	if on > 1 {
		w.violate(Disorderly)
	}
}

// onlyStuckServe reports whether every member that serves is a donor forever: no other member comes back before it is
// restarted, the one that was taken down before it included.
func (w *platform) onlyStuckServe() bool {
	for i := range w.n {
		if w.serves(i) && !w.nodes[i].srv.stuck {
			return false
		}
	}
	return true
}

// checkTaken judges an operator's act that takes the member down; stops are for hibernation.
func (w *platform) checkTaken(i int, stop bool) {
	if stop || !w.serves(i) {
		return
	}
	if w.truth.taken&^(1<<i) != 0 && !w.onlyStuckServe() {
		w.violate(TwoTaken)
	}
	w.truth.taken |= 1 << i
	w.truth.reached |= ReachedRestart
}

// onlyStuckDonors reports whether all members with the component's state are donors forever.
func onlyStuckDonors(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if m.InPrimary() && !m.StuckDonor && m.Server.State != galera.NodeJoining {
			return false
		}
	}
	return true
}

// checkDecision judges a decision by what its operator could see.
func (w *truth) checkDecision(s galera.Snapshot, d plan.Decision) {
	if d.Action != nil && seesTwoPrimaries(s) {
		w.violate(TouchedSplit)
	}
	w.checkArbitrator(s, d.Action)
	name := ""
	switch a := d.Action.(type) {
	case plan.SendOrder:
		if a.Kind == plan.OrderRestart {
			name = a.Member
		}
		w.checkStopOrder(s, a)
	case plan.DeletePod:
		name = a.Member
	case plan.AssignRoles:
		if m, ok := s.Member(a.Primary); !ok || !m.InPrimary() || m.Draining || m.Pod.Terminating ||
			m.Server.State != galera.NodeSynced && m.Server.State != galera.NodeDonor {
			w.violate(PrimaryUnfit)
		}
		w.checkCordoned(s, a.Primary)
	}
	w.checkRareStates(s, d)
	target, ok := s.Member(name)
	if !ok || !target.InPrimary() {
		return
	}
	if target.StuckDonor && onlyStuckDonors(s) {
		if slices.ContainsFunc(s.Members, func(m galera.Member) bool { return !m.Known && !nothingToLose(s, m) }) {
			w.violate(TakenWhileWeak)
		}
		return // no member becomes Synced, or the writer, before it is restarted
	}
	for _, m := range s.Members {
		if m.Name != name && (!m.Synced() && !m.StuckDonor || m.Upgrading && !m.Pod.Outdated) {
			w.violate(TakenWhileWeak)
		}
	}
	if a := s.Arbitrator; a != nil && a.Wanted && !a.Counted && len(s.Members) > 1 && !target.StuckDonor {
		w.violate(WithoutVote)
	}
	if target.Pod.Role == roles[rolePrimary] && len(s.Members) > 1 {
		w.violate(WriterTaken)
	}
}

// checkStopOrder: of a cluster that is hibernated the writer is stopped last.
func (w *truth) checkStopOrder(s galera.Snapshot, a plan.SendOrder) {
	target, _ := s.Member(a.Member)
	if a.Kind == plan.OrderStop && s.Operation != nil && s.Operation.Type == galera.OpScaleDown {
		w.checkLeave(s, target)
	}
	if !s.Hibernate || a.Kind != plan.OrderStop || target.Pod.Role != roles[rolePrimary] {
		return
	}
	for _, m := range s.Members {
		if m.Name != a.Member && m.CannotAct == galera.Able && m.Synced() && m.Phase == galera.PhaseRunning &&
			m.Pod.Role != roles[rolePrimary] {
			w.violate(WriterTaken)
		}
	}
}

// seesTwoPrimaries reports whether the reports show a split: two Primary components without a common member.
func seesTwoPrimaries(s galera.Snapshot) bool {
	for i, a := range s.Members {
		for _, b := range s.Members[i+1:] {
			if a.InPrimary() && b.InPrimary() && disjoint(a.Server.Members, b.Server.Members) {
				return true
			}
		}
	}
	return false
}

// disjoint is false while one of the views is not known.
func disjoint(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for _, name := range a {
		if contains(b, name) {
			return false
		}
	}
	return true
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}
