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
			return abandon(ReasonSwitching, m.Name+" "+why+": without it the cluster could not start again by itself")
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
