package status

import v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"

// EndedOperation is the operation that has ended between two statuses, nil when none has. completed is false when it
// was abandoned.
func EndedOperation(before, after v1alpha1.GaleraClusterStatus) (op *v1alpha1.OperationStatus, completed bool) {
	op = before.Operation
	if op == nil || after.Operation != nil && (after.Operation.ID == op.ID || after.Operation.Type == op.Type) {
		return nil, false
	}
	last := after.LastOperation
	return op, last != nil && last.Epoch == op.Epoch
}

// CompletedSwitch is the switch of replication's encryption that was completed between two statuses, nil when none was.
func CompletedSwitch(before, after v1alpha1.GaleraClusterStatus) *v1alpha1.SwitchStatus {
	if after.TLS == nil || after.TLS.LastSwitch == nil || after.TLS.LastSwitch.CompletedAt == nil {
		return nil
	}
	last := after.TLS.LastSwitch
	if before.TLS == nil || before.TLS.Switch == nil || !before.TLS.Switch.StartedAt.Equal(&last.StartedAt) {
		return nil
	}
	return last
}
