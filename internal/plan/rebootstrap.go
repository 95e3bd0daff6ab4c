package plan

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func rebootstrapping(op galera.Operation) bool {
	return op.Type == galera.OpSwitchTLS && op.Step == stepRebootstrap
}

// continueRebootstrap switches without dynamic sockets. One node, the target, serves while the others are
// stopped and get the new encryption. Then the target is stopped, too, and the recovery bootstraps it with
// the new encryption; the others join it.
func continueRebootstrap(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	keeper, ok := s.Member(op.Target)
	if !ok || !keeper.InPrimary() {
		return abandon(ReasonSwitching, op.Target+" no longer serves")
	}
	if s.Published == s.Wanted && keeper.Running.Meets(s.Wanted) && keeper.ConfigLoaded == s.ConfigRevision {
		return complete(fmt.Sprintf("%s runs with %s sockets", keeper.Name, s.Wanted.Socket))
	}
	for _, m := range s.Members {
		if why := wouldBeMissing(m); why != "" {
			return abandonFor(s, op, m, why)
		}
	}
	for _, m := range s.Members {
		if m.Name == keeper.Name || m.AtRest(op.Epoch) {
			continue
		}
		return stopForSwitch(op, m)
	}
	if d, ok := removeArbitratorPod(s, ReasonSwitching); ok {
		return d, true
	}
	if s.Published != s.Wanted {
		return publish(s, s.Wanted)
	}
	if d, waiting := waitForConfiguration(s); waiting {
		return d, true
	}
	return order(op, keeper.Name, OrderStop, galera.Position{}, ReasonSwitching,
		fmt.Sprintf("restarting %s, the last node that serves, with %s sockets", keeper.Name, s.Wanted.Socket))
}

// maxAbandoned is how often a switch is abandoned because of a member before a user is asked: every attempt takes all
// nodes but one down, and may cost a state transfer.
const maxAbandoned = 2

// abandonFor abandons a switch because of a member, and remembers that: the next attempt would end in the same way.
func abandonFor(s galera.Snapshot, op galera.Operation, m galera.Member, why string) (Decision, bool) {
	cause := galera.Abandoned{Type: op.Type, Step: op.Step, Goal: s.Wanted.String(), Member: m.Name, PodUID: m.Pod.UID,
		Attempts: 1, Message: why}
	if before := abandonedBefore(s); before != nil {
		cause.Attempts += before.Attempts
	}
	message := m.Name + " " + why + ": without it the cluster could not start again by itself"
	return Decision{Action: Complete{Message: message, Abandoned: true, Cause: &cause}, Reason: ReasonSwitching,
		Message: message}, true
}

// abandonedBefore returns the attempts to reach the wanted encryption by re-bootstrap that were abandoned; nil when
// there were none, or when the member they were abandoned for has another pod since.
func abandonedBefore(s galera.Snapshot) *galera.Abandoned {
	a := s.Abandoned
	if a == nil || a.Type != galera.OpSwitchTLS || a.Step != stepRebootstrap || a.Goal != s.Wanted.String() {
		return nil
	}
	if m, ok := s.Member(a.Member); !ok || m.Pod.UID != a.PodUID {
		return nil
	}
	return a
}

// reachedAfterAll reports whether m serves with the encryption that an abandoned switch was to reach: a switch by
// re-bootstrap whose last node is stopped may end as a recovery.
func reachedAfterAll(s galera.Snapshot, m galera.Member) bool {
	a := s.Abandoned
	return a != nil && a.Type == galera.OpSwitchTLS && a.Goal == s.Wanted.String() && s.Published == s.Wanted &&
		m.ConfigLoaded == s.ConfigRevision && m.Running.Meets(s.Wanted)
}

// refuseAgain refuses a switch by re-bootstrap that was abandoned again and again.
func refuseAgain(s galera.Snapshot) (Decision, bool) {
	a := abandonedBefore(s)
	if a == nil || a.Attempts < maxAbandoned {
		return Decision{}, false
	}
	return Decision{Reason: ReasonSwitchRefused, Blocked: true, DeletePod: a.Member, Message: fmt.Sprintf(
		"encryption is not switched: %d attempts were abandoned, the last one because %s, stopped for it, %s. Check its "+
			"volume, then delete its pod to try again. If the position stays unknown, delete its claim with the pod: the node "+
			"joins by SST. Or set spec.tls.switchStrategy to Rolling, which stops one node at a time",
		a.Attempts, a.Member, a.Message)}, true
}

// wouldBeMissing returns why a member could not take an order, or not determine its position, when the target is
// bootstrapped; "" when it could. Nodes that were stopped stay down while a silent one is waited for, so that wait is
// short. A server that hangs is killed by its Stop, and its position examined.
func wouldBeMissing(m galera.Member) string {
	switch why := absent(m); {
	case why != "":
		return why
	case m.CannotAct != galera.Able && m.CannotAct != galera.Hung:
		return memberProblem(m)
	case m.Down() && m.Failure != nil && !m.Position.Known() && m.Data != galera.DataEmpty &&
		m.Data != galera.DataIncomplete:
		return "cannot determine its position"
	}
	return ""
}

func stopForSwitch(op galera.Operation, m galera.Member) (Decision, bool) {
	if !m.Known || m.Phase == galera.PhaseStopping {
		return wait(ReasonSwitching, "waiting for "+m.Name+" to stop"+problemSuffix(m))
	}
	if m.Order != nil && m.Order.Epoch == op.Epoch && m.Order.Kind != string(OrderStop) {
		return abandon(ReasonSwitching, fmt.Sprintf("the Stop of epoch %d was lifted on %s: another epoch is needed",
			op.Epoch, m.Name))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonSwitching,
		fmt.Sprintf("stopping %s while %s serves", m.Name, op.Target))
}
