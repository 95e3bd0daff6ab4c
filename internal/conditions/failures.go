package conditions

import (
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

// memberFailure passes on why a node cannot run.
func memberFailure(in Input) *Problem {
	for _, m := range in.Snapshot.Members {
		if m.Failure == nil || roomComes(in, m) {
			continue
		}
		reason, blocked, advice := v1alpha1.ReasonMemberFailed, false, ""
		switch m.Failure.Reason {
		case agentapi.FailureSettings:
			reason, blocked = v1alpha1.ReasonSettingsRefused, true
		case agentapi.FailureForeignUUID, agentapi.FailureDiverged:
			reason, blocked = v1alpha1.ReasonForeignData, true
			advice = fmt.Sprintf(". Bring the right volume back; or, when its data are worth nothing, delete the claim data-%s and the pod, and it is filled anew", m.Name)
		case agentapi.FailureDowngrade:
			reason, blocked = v1alpha1.ReasonDowngradeRefused, true
		case agentapi.FailureUpgrade:
			reason, blocked = v1alpha1.ReasonUpgradeFailed, true
			advice = ". Put another image in its place, or the one of before"
		case agentapi.FailureStart:
			if turn(in, m) {
				advice = ". The roll is halted here: correct what was changed, or undo it"
			}
		case agentapi.FailureOrderBook:
			reason, blocked = v1alpha1.ReasonOrderBookDamaged, true
		case agentapi.FailureDiskFull:
			reason, blocked = v1alpha1.ReasonDiskFull, true
			advice = makeRoom(in)
		case agentapi.FailureCertificate:
			advice = ". See the condition CertificatesValid; in a transfer the certificate refused can be the donor's"
		case agentapi.FailureTransfer, agentapi.FailureStalled, agentapi.FailureDonorLost:
			reason = v1alpha1.ReasonTransferFailed
			advice = ". It is tried again, with another donor where there is one"
		}
		return &Problem{reason, m.Name + ": " + m.Failure.Message + advice, blocked}
	}
	return nil
}

// turn says that a node has its turn in a rolling restart.
func turn(in Input, m cluster.Member) bool {
	op := in.Snapshot.Operation
	return op != nil && op.Type == cluster.OpRestart && op.Target == m.Name
}
