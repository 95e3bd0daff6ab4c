package status

import (
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// memberFailure passes on why a node cannot run.
func memberFailure(in Input) *validate.Problem {
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
		case agentapi.FailureHung:
			blocked = true
			advice = fmt.Sprintf(". Nothing waits for it that needs no more than the others; all else does. Look at its storage, and restart it: "+
				"kubectl delete pod %s -n %s", m.Name, in.cluster().Namespace)
		case agentapi.FailureExamining:
			blocked, advice = true, ". It goes on, and may come to its end; look at the storage of its host"
		case agentapi.FailureFrozen:
			blocked, advice = true, ". Look at the storage of its host; nothing is killed for it, and it goes on when the volume does"
		case agentapi.FailureReadOnly:
			blocked = true
			advice = fmt.Sprintf(". Repair the volume, and then: kubectl delete pod %s -n %s. Or, while others serve, give it an empty one: delete the claim data-%s first",
				m.Name, in.cluster().Namespace, m.Name)
		case agentapi.FailureDiskFull:
			reason, blocked = v1alpha1.ReasonDiskFull, true
			advice = makeRoom(in)
		case agentapi.FailureCertificate:
			advice = ". See the condition CertificatesValid; in a transfer the certificate refused can be the donor's"
		case agentapi.FailureTransfer, agentapi.FailureStalled, agentapi.FailureDonorLost:
			reason = v1alpha1.ReasonTransferFailed
			advice = ". It is tried again, with another donor where there is one"
		}
		return &validate.Problem{Reason: reason, Message: m.Name + ": " + m.Failure.Message + advice, Blocked: blocked}
	}
	return nil
}

// turn says that a node has its turn in a rolling restart.
func turn(in Input, m galera.Member) bool {
	op := in.Snapshot.Operation
	return op != nil && op.Type == galera.OpRestart && op.Target == m.Name
}
