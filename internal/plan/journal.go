package plan

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// begin journals a new operation. Its epoch is above every epoch that any member remembers, of an order
// or of a bootstrap, so that a lost status can never make an old order look new.
func begin(s galera.Snapshot, op galera.Operation, reason, message string) (Decision, bool) {
	op.Epoch = highestEpoch(s) + 1
	op.ID = fmt.Sprintf("%s-%d", strings.ToLower(string(op.Type)), op.Epoch)
	return Decision{Action: Begin{op}, Reason: reason, Message: message}, true
}

func highestEpoch(s galera.Snapshot) int64 {
	epoch := s.Epoch
	for _, m := range s.Members {
		epoch = max(epoch, m.Line, seenEpoch(m))
	}
	return epoch
}

// recordMissingUUID stores the history's UUID in a status that has none. Unless this is the first start, the status was
// lost or the volumes are of an earlier cluster. Then a member that cannot be asked now, because its order book is
// damaged or its volume is missing, may remember a higher epoch than the others.
func recordMissingUUID(s galera.Snapshot, uuid string) RecordUUID {
	first := s.Operation != nil && s.Operation.Type == galera.OpFirstStart
	return RecordUUID{UUID: uuid, Epoch: highestEpoch(s), Leap: !first}
}

// seenEpoch is the epoch of the last order that a member remembers; it refuses orders of earlier epochs.
func seenEpoch(m galera.Member) int64 {
	if m.Order == nil {
		return 0
	}
	return m.Order.Epoch
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

// blocked waits for manual action.
func blocked(reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Blocked: true}, true
}

// order sends an order of the operation in progress. Its ID is the same every time it is sent,
// so that it can be repeated after a lost reply.
func order(op galera.Operation, member string, kind OrderKind, pos galera.Position, reason, message string) (Decision,
	bool) {
	return Decision{Reason: reason, Message: message, Action: SendOrder{
		Member: member, ID: orderID(op, member, kind), Epoch: op.Epoch, Kind: kind, Position: pos,
	}}, true
}

func orderID(op galera.Operation, member string, kind OrderKind) string {
	return strings.ToLower(fmt.Sprintf("%s/%s/%s", op.ID, member, kind))
}

// continueOperation continues the operation in the journal.
func continueOperation(s galera.Snapshot) (Decision, bool) {
	if s.Operation == nil {
		return Decision{}, false
	}
	op := *s.Operation
	if m, ok := firstPrimary(s); ok && op.BootstrapMember != "" {
		message := m.Name + " is Primary"
		return Decision{Action: Complete{Message: message, Reached: reachedAfterAll(s, m)}, Reason: ReasonJoining,
			Message: message}, true
	}
	if highestEpoch(s) > op.Epoch {
		return abandon(ReasonRecovering, fmt.Sprintf("a member remembers a later operation than %s", op.ID))
	}
	switch op.Type {
	case galera.OpFirstStart, galera.OpRecover, galera.OpRebuildQuorum:
		return continueBootstrap(s, op)
	case galera.OpHibernate:
		return continueHibernate(s, op)
	case galera.OpScaleDown:
		return continueScaleDown(s, op)
	case galera.OpRestart:
		return continueRestart(s, op)
	case galera.OpSwitchTLS:
		return continueSwitch(s, op)
	default:
		return abandon(ReasonRecovering, fmt.Sprintf("this version does not know the operation type %q", op.Type))
	}
}
