package plan

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func rebootstrapping(op galera.Operation) bool {
	return op.Type == galera.OpSwitchTLS && op.Step == stepRebootstrap
}

// continueRebootstrap switches without dynamic sockets: one node, the target, goes on serving while
// the others are stopped and given the new encryption; then that one is stopped, and the recovery
// from a full stop makes it the start of a component with the new encryption, which the others join.
func continueRebootstrap(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	keeper, ok := s.Member(op.Target)
	if !ok || !keeper.InPrimary() {
		return abandon(ReasonSwitching, op.Target+" does not serve any more")
	}
	if s.Published == s.Wanted && keeper.Running.Meets(s.Wanted) && keeper.ConfigLoaded == s.ConfigRevision {
		return complete(fmt.Sprintf("%s runs with %s sockets", keeper.Name, s.Wanted.Sockets))
	}
	for _, m := range s.Members {
		if why := wouldBeMissing(m); why != "" {
			return abandon(ReasonSwitching, m.Name+" "+why+": without it the cluster could not be started again by itself")
		}
	}
	for _, m := range s.Members {
		if m.Name == keeper.Name || m.AtRest(op.Epoch) {
			continue
		}
		return stopForSwitch(op, m)
	}
	if d, ok := dismissArbitrator(s, ReasonSwitching); ok {
		return d, true
	}
	if s.Published != s.Wanted {
		return publish(s, s.Wanted)
	}
	if d, waiting := waitForConfiguration(s); waiting {
		return d, true
	}
	return order(op, keeper.Name, OrderStop, galera.Position{}, ReasonSwitching,
		fmt.Sprintf("%s, the last node that serves, is restarted with %s sockets", keeper.Name, s.Wanted.Sockets))
}

// wouldBeMissing says why a member could not be told of a start, or not say where it stands; "" when it could. One that hangs is
// killed by its Stop, and looked at.
func wouldBeMissing(m galera.Member) string {
	switch {
	case m.CannotAct != galera.Able && m.CannotAct != galera.Hung:
		return plight(m)
	case m.Down() && m.Failure != nil && !m.Position.Known() && m.Data != galera.DataEmpty && m.Data != galera.DataIncomplete:
		return "cannot tell its position"
	}
	return ""
}

func stopForSwitch(op galera.Operation, m galera.Member) (Decision, bool) {
	if !m.Known || m.Phase == galera.PhaseStopping {
		return wait(ReasonSwitching, "waiting for "+m.Name+" to stop"+but(m))
	}
	if m.Order != nil && m.Order.Epoch == op.Epoch && m.Order.Kind != string(OrderStop) {
		return abandon(ReasonSwitching, fmt.Sprintf("the Stop of epoch %d was lifted on %s: another epoch is needed", op.Epoch, m.Name))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonSwitching,
		fmt.Sprintf("stopping %s while %s goes on serving", m.Name, op.Target))
}
