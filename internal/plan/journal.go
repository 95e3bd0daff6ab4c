package plan

import (
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// begin journals a new operation. Its epoch is above every epoch anybody remembers, of an order
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

// recordAnew stores the history's UUID in a status that has none. Unless this is the first start, the status was lost, or the
// volumes are of an earlier cluster, and whoever cannot be asked now, because its order book is damaged or
// its volume was taken away, may remember a higher epoch than the others do.
func recordAnew(s galera.Snapshot, uuid string) RecordUUID {
	first := s.Operation != nil && s.Operation.Type == galera.OpFirstStart
	return RecordUUID{UUID: uuid, Epoch: highestEpoch(s), Leap: !first}
}

// seenEpoch is the epoch of the last order a member remembers; it refuses all that are older.
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

// blocked waits for a person.
func blocked(reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Blocked: true}, true
}

// order sends an order of the running operation. Its ID is the same every time it is sent,
// so that a lost reply costs nothing.
func order(op galera.Operation, member string, kind OrderKind, pos galera.Position, reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Action: SendOrder{
		Member: member, ID: orderID(op, member, kind), Epoch: op.Epoch, Kind: kind, Position: pos,
	}}, true
}

func orderID(op galera.Operation, member string, kind OrderKind) string {
	return strings.ToLower(fmt.Sprintf("%s/%s/%s", op.ID, member, kind))
}

// continueOperation goes on with the operation in the journal.
func continueOperation(s galera.Snapshot) (Decision, bool) {
	if s.Operation == nil {
		return Decision{}, false
	}
	op := *s.Operation
	if m, ok := firstPrimary(s); ok && op.BootstrapMember != "" {
		return complete(m.Name + " is Primary")
	}
	if highestEpoch(s) > op.Epoch {
		return abandon(ReasonRecovering, fmt.Sprintf("a later operation than %s is known to a member", op.ID))
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
		return abandon(ReasonRecovering, fmt.Sprintf("operation type %q is not known to this version", op.Type))
	}
}
