package plan

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// continueBootstrap makes the chosen member Primary. The choice made when the operation began may have
// used old reports. So every other member first gets an order with the operation's epoch, which makes it
// refuse all earlier orders, and is brought to a state in which it cannot become Primary by itself. A
// report that shows the epoch is newer than the journal's entry: the choice is made again from such
// reports, and only then the order is sent.
func continueBootstrap(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	m, ok := s.Member(op.BootstrapMember)
	if !ok {
		return abandon(ReasonRecovering, op.BootstrapMember+" is no longer a member")
	}
	kind := orderFor(op.Type)
	if m.Order != nil && m.Order.ID == orderID(op, m.Name, kind) {
		return followOrder(m, op)
	}
	for _, ask := range []func(galera.Snapshot, galera.Operation, galera.Member) (Decision, bool){
		confirmChoice, stopOthers, announceEpoch, endLeftArbitrator,
	} {
		if d, ok := ask(s, op, m); ok {
			return d, true
		}
	}
	d, ok := order(op, m.Name, kind, op.Position, ReasonRecovering, fmt.Sprintf("%s bootstraps the cluster at %s", m.Name,
		op.Position))
	send := d.Action.(SendOrder)
	if op.Type == galera.OpRecover {
		send.GivenUp = sortMembers(s).missing() // confirmChoice has seen that each is approved
	}
	d.Action = send
	return d, ok
}

func orderFor(t galera.OperationType) OrderKind {
	switch t {
	case galera.OpFirstStart:
		return OrderInitialise
	case galera.OpRebuildQuorum:
		return OrderRebuildQuorum
	default:
		return OrderBootstrap
	}
}

// followOrder waits for an order that the agent has accepted, and abandons the operation if the order failed. The line
// of history has begun all the same: its member may have served before it was seen to.
func followOrder(m galera.Member, op galera.Operation) (Decision, bool) {
	d, ok := followed(m, op)
	if end, ended := d.Action.(Complete); ended && m.Order.State != orderRefused {
		end.Line = op.ID
		d.Action = end
	}
	return d, ok
}

func followed(m galera.Member, op galera.Operation) (Decision, bool) {
	switch {
	case m.CannotAct != galera.Able:
		return abandon(ReasonRecovering, fmt.Sprintf("%s was chosen to bootstrap the cluster, but %s", m.Name,
			memberProblem(m)))
	case m.Order.State == orderRefused, m.Order.State == orderFailed:
		return abandon(ReasonRecovering, fmt.Sprintf("%s did not carry out %s: %s", m.Name, op.ID, m.Order.Message))
	case m.Order.State == orderDone && m.Down():
		return abandon(ReasonRecovering, m.Name+" stopped again after it had been started")
	case m.Order.State == orderDone && withoutQuorum(m):
		return abandon(ReasonQuorumLost, m.Name+" lost quorum again after it had been started")
	default:
		return wait(ReasonRecovering, fmt.Sprintf("%s is bootstrapping the cluster (%s)", m.Name, op.ID))
	}
}

// confirmChoice checks that the member would still be chosen.
func confirmChoice(s galera.Snapshot, op galera.Operation, m galera.Member) (Decision, bool) {
	v := sortMembers(s)
	best, ok := v.best(s)
	switch {
	case op.Type == galera.OpFirstStart && s.ClusterUUID != "":
		return abandon(ReasonRecovering, "the cluster has begun its history: nothing is initialised")
	case op.Type == galera.OpFirstStart && len(v.silent) > 0:
		return waitForAgents(s, v)
	case op.Type == galera.OpFirstStart && !neverStarted(s, v):
		return abandon(ReasonRecovering, "a member holds, or held, data: nothing is initialised")
	case op.Type == galera.OpFirstStart:
		if d, waiting := readyForFirst(s); waiting { // a pod was replaced since
			return abandon(d.Reason, d.Message)
		}
		return Decision{}, false
	case len(v.laterMariaDB) > 0 && !approved(s, v, best, ok):
		// another image has to reach it
		return abandon(ReasonDowngradeRefused, list(v.laterMariaDB)+" cannot be started with this image")
	case len(v.missing()) > 0 && !approved(s, v, best, ok):
		return explain(s, v, best, ok)
	case len(v.missing()) > 0 && best.Name != m.Name:
		return abandon(ReasonRecovering, "the approval names "+best.Name)
	case len(v.busy) > 0:
		return wait(ReasonWaitingForMembers, "waiting for "+list(v.busy)+" to finish starting or stopping")
	}
	if problem := changedSinceChosen(s, m, best, op); problem != "" {
		return abandon(ReasonRecovering, m.Name+": "+problem)
	}
	return Decision{}, false
}

// changedSinceChosen returns what has changed since the member was chosen, "" when nothing has.
func changedSinceChosen(s galera.Snapshot, m, best galera.Member, op galera.Operation) string {
	switch {
	case !m.Known || best.Name == "" || ahead(s, best, m):
		return "another member would be chosen now"
	case m.Position.UUID != op.Position.UUID || m.Position.Seqno < op.Position.Seqno:
		return fmt.Sprintf("its position is behind %s", op.Position)
	case op.Type == galera.OpRebuildQuorum && !withoutQuorum(m):
		return "it no longer runs without quorum"
	case op.Type == galera.OpRecover && (!m.Down() || m.Data != galera.DataPresent || m.Position != op.Position):
		return fmt.Sprintf("its position is no longer %s", op.Position)
	}
	return ""
}

// stopOthers stops running nodes that lost quorum and are not in the chosen member's component: they could merge and
// become Primary by themselves. A server that does not answer may even be Primary alone; it is ended, too, and its
// position is examined then.
func stopOthers(s galera.Snapshot, op galera.Operation, chosen galera.Member) (Decision, bool) {
	for _, m := range s.Members {
		switch {
		case m.Name == chosen.Name || m.Server != nil && inSameComponent(chosen, m):
		case m.CannotAct != galera.Able && m.MayRun():
			return terminateStuck(op, m)
		case m.Known && m.Server != nil:
			return order(op, m.Name, OrderStop, galera.Position{}, ReasonRecovering,
				fmt.Sprintf("stopping %s, which has no quorum and is not in the component of %s", m.Name, chosen.Name))
		}
	}
	return Decision{}, false
}

// inSameComponent reports whether two running nodes are in the same component by the views of both.
func inSameComponent(a, b galera.Member) bool {
	return a.Server != nil && b.Server != nil &&
		slices.Contains(a.Server.Members, b.Name) && slices.Contains(b.Server.Members, a.Name)
}

// announceEpoch makes the other members remember the operation's epoch, by a Start: an order that changes
// nothing for a member that was not stopped by order. A member that cannot read its order book refuses all
// orders anyhow. One that cannot write it carries none out; and an approval that gives it up is later than any order
// still in flight to it.
func announceEpoch(s galera.Snapshot, op galera.Operation, chosen galera.Member) (Decision, bool) {
	if op.Type == galera.OpFirstStart {
		return Decision{}, false // there is no data yet that an earlier order could harm
	}
	for _, m := range s.Members {
		if m.Name != chosen.Name && m.Known && m.Records() && seenEpoch(m) < op.Epoch {
			return order(op, m.Name, OrderStart, galera.Position{}, ReasonRecovering,
				fmt.Sprintf("informing %s that %s bootstraps the cluster", m.Name, chosen.Name))
		}
	}
	return Decision{}, false
}
