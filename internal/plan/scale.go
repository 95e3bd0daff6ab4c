package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// scale brings the number of members to the wanted one, one member at a time. What is wanted never
// says who is a member: that is what was recorded, because data of a member that left by a change
// of the spec alone could be the most advanced. While it cannot go on it has nothing to say, so
// that what is wrong can be repaired.
func scale(s galera.Snapshot) (Decision, bool) {
	size := len(s.Members)
	switch {
	case s.Replicas < 1 || s.Replicas == size || !anyPrimary(s):
		return Decision{}, false
	case s.Replicas > size:
		return scaleUp(s)
	}
	target := s.Members[size-1]
	if _, weak := waitForOthers(s, target); weak {
		return Decision{}, false
	}
	if slices.ContainsFunc(s.Members[:size-1], func(m galera.Member) bool { return m.CannotAct != galera.Able }) {
		return Decision{}, false // continueScaleDown would give way at once
	}
	return begin(s, galera.Operation{Type: galera.OpScaleDown, Target: target.Name}, ReasonScaling,
		fmt.Sprintf("scaling from %d to %d nodes; the next to leave is %s", size, s.Replicas, target.Name))
}

// scaleUp adds one member when all others serve: two that join together need two donors.
func scaleUp(s galera.Snapshot) (Decision, bool) {
	for _, m := range s.Members {
		if !m.Synced() || !m.Pod.Ready {
			return Decision{}, false
		}
	}
	size := len(s.Members) + 1
	return Decision{Action: Resize{size}, Reason: ReasonScaling,
		Message: fmt.Sprintf("scaling to %d nodes; adding the member number %d", s.Replicas, size)}, true
}

// continueScaleDown lets the highest ordinal leave in good order: the writer has moved, all others are
// there, and it is stopped by order, so that quorum is counted anew without it. It is a member until
// all others were seen Synced without it: from then on nothing that a client was told is stored is on
// its volume alone.
func continueScaleDown(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	m, ok := s.Member(op.Target)
	switch {
	case !ok || m.Ordinal != len(s.Members)-1 || m.Ordinal == 0:
		return abandon(ReasonScaling, op.Target+" is not the last member any more")
	case !anyPrimary(s) || s.Hibernate:
		return abandon(ReasonRecovering, "scaling gives way: there is no Primary component any more, or the cluster is to hibernate")
	case s.Replicas > m.Ordinal:
		return abandon(ReasonScaling, m.Name+" is wanted again")
	case m.Order != nil && m.Order.Epoch == op.Epoch && m.Order.Kind != string(OrderStop):
		return abandon(ReasonScaling, fmt.Sprintf("the Stop of epoch %d was lifted on %s: another epoch is needed", op.Epoch, m.Name))
	}
	if arbitratorFirst(s) {
		return abandon(ReasonScaling, "the arbitrator is away, and has its turn first")
	}
	for _, o := range s.Members[:m.Ordinal] {
		if o.CannotAct != galera.Able { // for how long, nobody knows, and the leaver may be down already
			return abandon(ReasonScaling, m.Name+" stays for now: "+o.Name+" "+plight(o))
		}
	}
	if d, weak := waitForOthers(s, m); weak {
		return d, true
	}
	if m.Pod.Role == rolePrimary {
		return assign(otherWriter(s, m.Name))
	}
	switch {
	case m.BookDamaged:
		return wait(ReasonOrderBook, m.Name+" is to leave, and refuses all orders, because it cannot read its order book: give it an empty volume")
	case halted(m, op):
		return completeScaleDown(s, op, m)
	case !m.Known:
		return wait(ReasonScaling, m.Name+" is to leave, and its agent does not answer: it cannot be told to stop. Should its host be gone for good, delete the pod by force")
	case !m.Records():
		return wait(ReasonMemberFailed, m.Name+" is to leave, and cannot be told to stop: it "+plight(m)+". Or give it an empty volume")
	case m.Phase == galera.PhaseStopping:
		return wait(ReasonScaling, "waiting for "+m.Name+" to stop"+but(m))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonScaling, "stopping "+m.Name+", which leaves the cluster")
}

// halted says that a member is down for good: stopped by this operation's order, which it keeps on its
// volume, or without a container that could run.
func halted(m galera.Member, op galera.Operation) bool {
	return m.AtRest(op.Epoch) || !m.Known && m.Pod.Waiting
}

// completeScaleDown waits until the leave is seen on all that stay. A report may be older than the leave,
// from another time when the leaver was away; so each of them is first told of something, and a report
// that shows it is younger. A Start changes nothing for a member that is not held.
func completeScaleDown(s galera.Snapshot, op galera.Operation, gone galera.Member) (Decision, bool) {
	rest := s.Members[:gone.Ordinal]
	for _, m := range rest {
		if m.Order == nil || !strings.HasPrefix(m.Order.ID, orderID(op, m.Name, OrderStart)) {
			return tellOfLeave(op, m, gone)
		}
	}
	for _, m := range rest {
		if !m.Synced() && !upToDate(m) || m.Server.Size != len(rest) || slices.Contains(m.Server.Members, gone.Name) {
			return wait(ReasonScaling, fmt.Sprintf("%s has stopped; waiting for %s to be Synced without it", gone.Name, m.Name)+but(m))
		}
	}
	message := gone.Name + " has left"
	return Decision{Action: Complete{Message: message, Size: len(rest)}, Reason: ReasonScaling, Message: message}, true
}

// tellOfLeave tells a member that another one has stopped. When an order of the same epoch was the last, an earlier leader's,
// it may have been told before, and would not take notice of the same order: then the ID names the other one.
func tellOfLeave(op galera.Operation, m, gone galera.Member) (Decision, bool) {
	d, ok := order(op, m.Name, OrderStart, galera.Position{}, ReasonScaling, "telling "+m.Name+" that "+gone.Name+" has stopped")
	if m.Order != nil && m.Order.Epoch == op.Epoch {
		send := d.Action.(SendOrder)
		send.ID += "/" + m.Order.ID
		d.Action = send
	}
	return d, ok
}

// waitForOthers waits while a member that stays is not part of the component or falls behind. One that
// gives its state to the leaver serves all the same.
func waitForOthers(s galera.Snapshot, leaver galera.Member) (Decision, bool) {
	for _, m := range s.Members {
		if m.Name == leaver.Name || m.Synced() && m.Records() || canWrite(m) && !leaver.Synced() {
			continue
		}
		return wait(ReasonScaling, fmt.Sprintf("waiting for %s to be Synced before %s leaves", m.Name, leaver.Name)+but(m))
	}
	if !leaver.InPrimary() {
		return Decision{}, false // its vote is gone already, and the arbitrator's turn comes when it has left
	}
	return waitForArbitrator(s)
}
