package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// scale brings the number of members to the wanted one, one member at a time. The record, not the spec,
// determines which nodes are members: a member dropped by a change of the spec alone could hold the most
// advanced data. While scale cannot continue it decides nothing, so that later policies can repair the
// cause.
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
		return Decision{}, false // continueScaleDown would abandon it at once
	}
	return begin(s, galera.Operation{Type: galera.OpScaleDown, Target: target.Name}, ReasonScaling,
		fmt.Sprintf("scaling from %d to %s; the next one to remove is %s", size, galera.Count(s.Replicas, "node"),
			target.Name))
}

// scaleUp adds one member when all others serve: two joiners would need two donors.
func scaleUp(s galera.Snapshot) (Decision, bool) {
	for _, m := range s.Members {
		if !m.Synced() || !m.Pod.Ready {
			return Decision{}, false
		}
	}
	size := len(s.Members) + 1
	return Decision{Action: Resize{size}, Reason: ReasonScaling,
		Message: fmt.Sprintf("scaling to %d nodes; adding node number %d", s.Replicas, size)}, true
}

// continueScaleDown removes the highest ordinal gracefully: after a switchover, while all others serve, it
// is stopped by order, so that quorum is recalculated without it. It stays a member until all others were
// seen Synced without it: from then on no acknowledged write is on its volume alone.
func continueScaleDown(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	m, ok := s.Member(op.Target)
	switch {
	case !ok || m.Ordinal != len(s.Members)-1 || m.Ordinal == 0:
		return abandon(ReasonScaling, op.Target+" is no longer the last member")
	case !anyPrimary(s) || s.Hibernate:
		return abandon(ReasonRecovering,
			"scaling is abandoned: the Primary component is lost, or the cluster is to hibernate")
	case s.Replicas > m.Ordinal:
		return abandon(ReasonScaling, "spec.replicas asks for "+m.Name+" again")
	case m.Order != nil && m.Order.Epoch == op.Epoch && m.Order.Kind != string(OrderStop):
		return abandon(ReasonScaling, fmt.Sprintf("the Stop of epoch %d was lifted on %s: another epoch is needed", op.Epoch,
			m.Name))
	}
	if arbitratorFirst(s) {
		return abandon(ReasonScaling, "the arbitrator does not serve, and is restored first")
	}
	for _, o := range s.Members[:m.Ordinal] {
		if why := heldUp(o); why != "" { // for any time, and the leaver may be down already
			return abandon(ReasonScaling, m.Name+" stays for now: "+o.Name+" "+why)
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
		return blocked(ReasonOrderBookDamaged,
			m.Name+" is to be removed, but refuses all orders, because it cannot read its order book: give it an empty volume")
	case halted(m, op):
		return completeScaleDown(s, op, m)
	case !m.Known && m.SilentFor < answerTimeout, beingCreated(m):
		return wait(ReasonScaling, "waiting for the agent of "+m.Name+", which is to be removed"+
			created(s, []string{m.Name}))
	case !m.Known:
		return blocked(ReasonScaling,
			m.Name+
				" is to be removed, but its agent does not answer, so it cannot be ordered to stop. If its host is gone for "+
				"good, delete the pod by force")
	case !m.Records():
		return blocked(ReasonMemberFailed, m.Name+" is to be removed, but cannot be ordered to stop: it "+memberProblem(m)+
			". Or give it an empty volume")
	case m.Phase == galera.PhaseStopping:
		return wait(ReasonScaling, "waiting for "+m.Name+" to stop"+problemSuffix(m))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonScaling, "stopping "+m.Name+" to remove it")
}

// heldUp returns why a node that is to stay may not be Synced for any time, as the end of a sentence; "" when it may be
// in a moment. Whatever keeps it from starting counts: what does not end by itself, and what only a later attempt
// shows.
func heldUp(m galera.Member) string {
	switch {
	case m.CannotAct != galera.Able:
		return memberProblem(m)
	case m.CannotStart != "":
		return "cannot start: " + m.CannotStart
	case m.Failure != nil && m.Down():
		return memberProblem(m)
	}
	return absent(m)
}

// halted reports whether a member stays down: stopped by this operation's order, which it keeps on its volume, or
// without a container that could run.
func halted(m galera.Member, op galera.Operation) bool {
	return m.AtRest(op.Epoch) || !m.Known && m.Pod.Waiting
}

// completeScaleDown waits until all remaining members report a view without the leaver. A report may be
// older than the leave, from an earlier absence of the leaver. So each member first gets a Start, which
// changes nothing for a member that was not stopped by order: a report that shows it is newer.
func completeScaleDown(s galera.Snapshot, op galera.Operation, gone galera.Member) (Decision, bool) {
	rest := s.Members[:gone.Ordinal]
	for _, m := range rest {
		if m.Order == nil || !strings.HasPrefix(m.Order.ID, orderID(op, m.Name, OrderStart)) {
			return announceLeave(op, m, gone)
		}
	}
	for _, m := range rest {
		if !m.Synced() && !upToDate(m) || m.Server.Size != len(rest) || slices.Contains(m.Server.Members, gone.Name) {
			return wait(ReasonScaling, fmt.Sprintf("%s has stopped; waiting for %s to be Synced in a view without it", gone.Name,
				m.Name)+problemSuffix(m))
		}
	}
	message := gone.Name + " was removed"
	return Decision{Action: Complete{Message: message, Size: len(rest)}, Reason: ReasonScaling, Message: message}, true
}

// announceLeave sends the Start of completeScaleDown. If the member's last order is of the same epoch, from an earlier
// leader, it may know the Start already, and would ignore it: then the ID names that last order, too.
func announceLeave(op galera.Operation, m, gone galera.Member) (Decision, bool) {
	d, ok := order(op, m.Name, OrderStart, galera.Position{}, ReasonScaling, "informing "+m.Name+" that "+gone.Name+
		" has stopped")
	if m.Order != nil && m.Order.Epoch == op.Epoch {
		send := d.Action.(SendOrder)
		send.ID += "/" + m.Order.ID
		d.Action = send
	}
	return d, ok
}

// waitForOthers waits until every remaining member is Synced. A donor whose joiner is the leaver serves, too.
func waitForOthers(s galera.Snapshot, leaver galera.Member) (Decision, bool) {
	for _, m := range s.Members {
		if m.Name == leaver.Name || m.Synced() && m.Records() || canWrite(m) && !leaver.Synced() {
			continue
		}
		return wait(ReasonScaling, fmt.Sprintf("waiting for %s to be Synced before %s is removed", m.Name, leaver.Name)+
			problemSuffix(m))
	}
	if !leaver.InPrimary() {
		return Decision{}, false // its vote is lost already, and the arbitrator is restored after the removal
	}
	return waitForArbitrator(s)
}
