package plan

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// hibernate begins the ordered stop of all nodes; when it is complete the planner does nothing until
// spec.hibernate is false again.
func hibernate(s galera.Snapshot) (Decision, bool) {
	if !s.Hibernate {
		return Decision{}, false
	}
	if s.Hibernated {
		if d, ok := removeArbitratorPod(s, ReasonHibernated); ok {
			return d, true // an earlier leader may have started it again
		}
		return wait(ReasonHibernated, "the cluster is hibernated: all nodes are stopped, the data is kept")
	}
	return begin(s, galera.Operation{Type: galera.OpHibernate}, ReasonHibernating, "stopping all nodes, one after another")
}

// continueHibernate stops one node at a time, the primary last: the last node to stop holds every
// write-set, and Galera marks it safe to bootstrap.
func continueHibernate(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	if !s.Hibernate {
		return abandon(ReasonJoining, "spec.hibernate is false again")
	}
	if d, ok := removeArbitratorPod(s, ReasonHibernating); ok {
		return d, true
	}
	var running []galera.Member
	var untold []galera.Member
	var missing []string
	for _, m := range s.Members {
		switch {
		case m.AtRest(op.Epoch):
			// The epoch shows that this is not an old report of an earlier hibernation.
		case m.BookDamaged:
			// It starts nothing, and takes no order.
		case !m.Pod.Exists:
			missing = append(missing, m.Name)
		case m.Known && !m.Records(), !m.Known && (m.Pod.Waiting || m.Pod.Creating):
			untold = append(untold, m)
		case !m.Known && m.SilentFor >= answerTimeout:
			return blocked(ReasonHibernating, m.Name+" does not answer, so it cannot be ordered to stop: check its pod and "+
				"its host. If the host is gone for good, delete the pod by force")
		case !m.Known, m.Phase == galera.PhaseStopping:
			return wait(ReasonHibernating, "waiting for "+m.Name+" to stop"+problemSuffix(m))
		default:
			running = append(running, m)
		}
	}
	if len(running) == 0 && len(missing) > 0 {
		// A missing pod may be created again, and would start its node.
		return wait(ReasonHibernating, "all other nodes are stopped; waiting for the pods "+list(missing))
	}
	if len(running) == 0 {
		return completeHibernate(untold)
	}
	m := nextToStop(running, s.Primary)
	if m.Order != nil && m.Order.Epoch == op.Epoch && m.Order.Kind != string(OrderStop) {
		return abandon(ReasonHibernating, fmt.Sprintf("the Stop of epoch %d was lifted on %s: another epoch is needed",
			op.Epoch, m.Name))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonHibernating,
		fmt.Sprintf("stopping %s, %s left to stop", m.Name, galera.Count(len(running), "node")))
}

// completeHibernate completes the hibernation when all nodes that accept a Stop have stopped. One node that cannot get
// the order may be left: its server ends with its pod, and no other node runs meanwhile with which, or without which,
// it could serve. With two such nodes, either could serve with or without the other. A server that was killed runs no
// further instruction, though its process stays.
func completeHibernate(untold []galera.Member) (Decision, bool) {
	mayServe := slices.DeleteFunc(slices.Clone(untold), func(m galera.Member) bool { return m.CannotAct == galera.Killed })
	switch {
	case len(untold) == 0:
		return complete("all nodes are stopped")
	case len(untold) == 1:
		return complete("all nodes are stopped but " + untold[0].Name + ", which ends with its pod" +
			problemSuffix(untold[0]))
	case len(mayServe) < 2:
		return complete("all nodes are stopped but " + list(names(untold)) + ", which end with their pods")
	}
	if slices.ContainsFunc(mayServe, beingCreated) {
		return wait(ReasonHibernating, "all other nodes are stopped; waiting for the "+agents(names(mayServe))+
			", as containers are still being created")
	}
	return blocked(ReasonHibernating, fmt.Sprintf(
		"all other nodes are stopped; waiting for %s, which cannot be ordered to stop: "+
			"at most one such node may be left. %s %s", list(names(mayServe)), mayServe[0].Name, memberProblem(mayServe[0])))
}

// nextToStop is the highest ordinal that is the primary neither by its role nor by the record; then one that is not by
// its role; and the primary itself if no other is left.
func nextToStop(members []galera.Member, primary string) galera.Member {
	last := members[0]
	for _, m := range members[1:] {
		if rank(m, primary) >= rank(last, primary) {
			last = m
		}
	}
	return last
}

func rank(m galera.Member, primary string) int {
	switch {
	case m.Pod.Role == rolePrimary:
		return 0
	case m.Name == primary:
		return 1
	default:
		return 2
	}
}

// clearStopOrders lets nodes join again that were stopped by order of an operation that has ended. A hibernation
// must have ended first: if it were wanted again, the agents would ignore its Stops as known orders. The epoch
// is the journal's, so that an operator with a stale status cannot lift a newer Stop.
func clearStopOrders(s galera.Snapshot) (Decision, bool) {
	stopping := s.Hibernate || s.Operation != nil && (s.Operation.Type == galera.OpHibernate ||
		rebootstrapping(*s.Operation))
	if stopping || !anyPrimary(s) || highestEpoch(s) > s.Epoch {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if m.Known && m.Phase == galera.PhaseStopped && m.Records() && !leaving(s, m) {
			return clearStopOrder(s, m)
		}
	}
	return Decision{}, false
}

// leaving reports whether the operation in the journal removes the member.
func leaving(s galera.Snapshot, m galera.Member) bool {
	return s.Operation != nil && s.Operation.Type == galera.OpScaleDown && s.Operation.Target == m.Name
}

// clearStopOrder sends a Start whose ID names the Stop it lifts: another Stop may still be in flight.
func clearStopOrder(s galera.Snapshot, m galera.Member) (Decision, bool) {
	op := galera.Operation{ID: fmt.Sprintf("start-%d", s.Epoch), Epoch: s.Epoch}
	d, ok := order(op, m.Name, OrderStart, galera.Position{}, ReasonJoining, m.Name+" may join again")
	if m.Order != nil {
		send := d.Action.(SendOrder)
		send.ID += "/" + m.Order.ID
		d.Action = send
	}
	return d, ok
}
