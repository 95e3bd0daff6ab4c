package plan

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/cluster"
)

// begin journals a new operation. Its epoch is above every epoch anybody remembers, so that
// a lost status can never make an old order look new.
func begin(s cluster.Snapshot, op cluster.Operation, reason, message string) (Decision, bool) {
	op.Epoch = highestEpoch(s) + 1
	op.ID = fmt.Sprintf("%s-%d", strings.ToLower(string(op.Type)), op.Epoch)
	return Decision{Action: Begin{op}, Reason: reason, Message: message}, true
}

func highestEpoch(s cluster.Snapshot) int64 {
	epoch := s.Epoch
	for _, m := range s.Members {
		if m.Order != nil && m.Order.Epoch > epoch {
			epoch = m.Order.Epoch
		}
	}
	return epoch
}

func complete(message string) (Decision, bool) {
	return Decision{Action: Complete{Message: message}, Reason: ReasonJoining, Message: message}, true
}

func abandon(reason, message string) (Decision, bool) {
	return Decision{Action: Complete{Message: message, Abandoned: true}, Reason: reason, Message: message}, true
}

func wait(reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message}, true
}

// blocked waits for a person.
func blocked(reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Blocked: true}, true
}

// order sends an order of the running operation. Its ID is the same every time it is sent,
// so that a lost reply costs nothing.
func order(op cluster.Operation, member string, kind OrderKind, pos cluster.Position, reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Action: SendOrder{
		Member: member, ID: orderID(op, member, kind), Epoch: op.Epoch, Kind: kind, Position: pos,
	}}, true
}

func orderID(op cluster.Operation, member string, kind OrderKind) string {
	return strings.ToLower(fmt.Sprintf("%s/%s/%s", op.ID, member, kind))
}

// continueOperation goes on with the operation in the journal.
func continueOperation(s cluster.Snapshot) (Decision, bool) {
	if s.Operation == nil {
		return Decision{}, false
	}
	op := *s.Operation
	if highestEpoch(s) > op.Epoch {
		return abandon(ReasonRecovering, fmt.Sprintf("a later operation than %s is known to a member", op.ID))
	}
	switch op.Type {
	case cluster.OpFirstStart, cluster.OpRecover, cluster.OpRebuildQuorum:
		return continueBootstrap(s, op)
	case cluster.OpSuspend:
		return continueSuspend(s, op)
	case cluster.OpRestart:
		// It has no state of its own: the facts say who is outdated. It gives way when the
		// component is lost meanwhile.
		if !anyPrimary(s) || s.Suspend {
			return abandon(ReasonRecovering, "the rolling restart gives way: there is no Primary component any more, or the cluster is to be suspended")
		}
		return Decision{}, false
	default:
		return abandon(ReasonRecovering, fmt.Sprintf("operation type %q is not known to this version", op.Type))
	}
}

// continueBootstrap brings the chosen member to Primary: it sends the order until the agent
// remembers it, then waits for the fact.
func continueBootstrap(s cluster.Snapshot, op cluster.Operation) (Decision, bool) {
	if m, ok := firstPrimary(s); ok {
		if m.Name == op.BootstrapMember {
			return complete(m.Name + " is Primary")
		}
		return abandon(ReasonJoining, m.Name+" is Primary already")
	}
	m, ok := s.Member(op.BootstrapMember)
	if !ok {
		return abandon(ReasonRecovering, op.BootstrapMember+" is no member any more")
	}
	if !m.Known {
		return wait(ReasonWaitingForMembers, "waiting for the agent of "+m.Name+", which was chosen to start the cluster")
	}
	kind := orderFor(op.Type)
	if m.Order != nil && m.Order.ID == orderID(op, m.Name, kind) {
		return followOrder(m, op)
	}
	if d, ok := stopOthers(s, op); ok {
		return d, true
	}
	if problem := stillFits(m, op); problem != "" {
		return abandon(ReasonRecovering, m.Name+": "+problem)
	}
	return order(op, m.Name, kind, op.Position, ReasonRecovering,
		fmt.Sprintf("%s starts the cluster at %s", m.Name, op.Position))
}

func orderFor(t cluster.OperationType) OrderKind {
	switch t {
	case cluster.OpFirstStart:
		return OrderInitialise
	case cluster.OpRebuildQuorum:
		return OrderRebuildQuorum
	default:
		return OrderBootstrap
	}
}

// followOrder waits for an order that the agent has, and gives up when it came to nothing.
func followOrder(m cluster.Member, op cluster.Operation) (Decision, bool) {
	switch {
	case m.Order.State == orderRefused, m.Order.State == orderFailed:
		return abandon(ReasonRecovering, fmt.Sprintf("%s did not carry out %s: %s", m.Name, op.ID, m.Order.Message))
	case m.Order.State == orderDone && m.Down():
		return abandon(ReasonRecovering, m.Name+" went down again after it had been started")
	default:
		return wait(ReasonRecovering, fmt.Sprintf("%s is starting the cluster (%s)", m.Name, op.ID))
	}
}

// stopOthers stops, before a Recover, running nodes that lost quorum: the member that was
// chosen knows more than they do.
func stopOthers(s cluster.Snapshot, op cluster.Operation) (Decision, bool) {
	if op.Type != cluster.OpRecover {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if m.Known && m.Server != nil && m.Phase == cluster.PhaseRunning {
			return order(op, m.Name, OrderStop, cluster.Position{}, ReasonRecovering,
				fmt.Sprintf("stopping %s, which has no quorum and is behind %s", m.Name, op.BootstrapMember))
		}
		if m.Known && (m.Server != nil || m.Phase == cluster.PhaseStopping || m.Phase == cluster.PhaseStarting) {
			return wait(ReasonRecovering, "waiting for "+m.Name+" to stop")
		}
	}
	return Decision{}, false
}

// stillFits says what has changed since the member was chosen, "" when nothing has.
func stillFits(m cluster.Member, op cluster.Operation) string {
	switch op.Type {
	case cluster.OpFirstStart:
		if !m.Down() || m.Data != cluster.DataEmpty {
			return "its data directory is not empty any more"
		}
	case cluster.OpRecover:
		if !m.Down() || m.Data != cluster.DataPresent || m.Position != op.Position {
			return fmt.Sprintf("its position is not %s any more", op.Position)
		}
	case cluster.OpRebuildQuorum:
		if m.Server == nil || m.Server.Component != cluster.ComponentNonPrimary {
			return "it is not running without quorum any more"
		}
		if m.Position.UUID != op.Position.UUID || m.Position.Seqno < op.Position.Seqno {
			return fmt.Sprintf("its position is behind %s", op.Position)
		}
	}
	return ""
}
