package status

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// memberFailure reports why a node cannot run, and the remedy.
func memberFailure(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if m.Failure == nil || roomComes(in, m) {
			continue
		}
		reason, blocked, advice := v1alpha1.ReasonMemberFailed, false, ""
		switch m.Failure.Reason {
		case agentapi.FailureSettings:
			reason, blocked, advice = v1alpha1.ReasonSettingsRefused, true, settingsAdvice(in)
		case agentapi.FailureForeignUUID, agentapi.FailureDiverged:
			reason, blocked = v1alpha1.ReasonForeignData, true
			advice = fmt.Sprintf(". Bring back the right volume; or, if its data is not needed, run: %s; the node then joins by SST", galera.EmptyVolume(m.Name, in.cluster().Namespace))
		case agentapi.FailureDowngrade:
			reason, blocked = v1alpha1.ReasonDowngradeRefused, true
		case agentapi.FailureUpgrade:
			reason, blocked = v1alpha1.ReasonUpgradeFailed, true
			advice = ". Set spec.image to another image, or back to the previous one"
		case agentapi.FailureStart, agentapi.FailureInitialisation:
			blocked, advice = startAdvice(in, m)
		case agentapi.FailureOrderBook:
			reason, blocked = v1alpha1.ReasonOrderBookDamaged, true
		case agentapi.FailureHung:
			blocked = true
			advice = fmt.Sprintf(". Work that needs only the other nodes continues; everything else waits for this one. Check its storage, and restart it: "+
				"kubectl delete pod %s -n %s --wait=false", m.Name, in.cluster().Namespace)
		case agentapi.FailureLogin:
			blocked = true
			advice = fmt.Sprintf(". What it serves is not known. Its accounts are restored when it starts: kubectl delete pod %s -n %s --wait=false. "+
				"An imported dump must leave out the schema mysql (docs/migration.md)", m.Name, in.cluster().Namespace)
		case agentapi.FailureRoot:
			blocked, advice = true, ". The statement is repeated; correct spec.mariadb.config"
		case agentapi.FailureExamining:
			blocked, advice = true, ". The examination continues and may still succeed; check the storage of its host"
		case agentapi.FailureFrozen:
			blocked, advice = true, ". Check the storage of its host. Its server is not killed, and continues when the volume answers again"
		case agentapi.FailureReadOnly:
			blocked = true
			advice = fmt.Sprintf(". Repair the volume, then run: kubectl delete pod %s -n %s. Or, while other nodes serve, give it an empty volume: %s",
				m.Name, in.cluster().Namespace, galera.EmptyVolume(m.Name, in.cluster().Namespace))
		case agentapi.FailureDiskFull:
			reason, blocked = v1alpha1.ReasonDiskFull, true
			advice = makeRoom(in, m)
		case agentapi.FailureCertificate:
			advice = ". See the condition CertificatesValid; in a state transfer, the refused certificate can be the donor's"
		case agentapi.FailureTransfer, agentapi.FailureStalled, agentapi.FailureDonorLost:
			reason = v1alpha1.ReasonTransferFailed
			advice = ". The node tries again, with another donor if there is one"
		}
		return &validate.Problem{Reason: reason, Message: m.Name + ": " + m.Failure.Message + advice, Blocked: blocked}
	}
	return nil
}

// beingRestarted returns whether the rolling restart in progress is that of this node.
func beingRestarted(in Input, m galera.Member) bool {
	op := in.Snapshot.Operation
	return op != nil && op.Type == galera.OpRestart && op.Target == m.Name
}

// startAdvice says what to do about a server that does not start, and whether manual action is required.
func startAdvice(in Input, m galera.Member) (blocked bool, advice string) {
	switch {
	case neverServed(in):
		return true, ". No node has served yet, so no data can be lost. Correct spec.mariadb.config or spec.image; the start is tried again by itself"
	case beingRestarted(in, m):
		return false, ". The rolling restart is halted: correct the change, or undo it"
	}
	return false, ""
}

// settingsAdvice says what to do about a setting that a server does not start with.
func settingsAdvice(in Input) string {
	if neverServed(in) {
		return ". Correct spec.mariadb.config. No node has served yet, so no data can be lost; the start is tried again by itself"
	}
	return ". Correct spec.mariadb.config; the node is started again by itself"
}

// neverServed reports whether the cluster is new: it has no history, and no member has data beyond a database that was just made.
func neverServed(in Input) bool {
	s := in.Snapshot
	if s.ClusterUUID != "" {
		return false
	}
	first := s.Operation != nil && s.Operation.Type == galera.OpFirstStart
	return first || !slices.ContainsFunc(s.Members, func(m galera.Member) bool {
		return !m.Known || m.HeldData || m.Data != galera.DataEmpty && !initialisationFailed(m)
	})
}

// initialisationFailed reports whether the member is looking at what a failed initialisation has left.
func initialisationFailed(m galera.Member) bool {
	o := m.Order
	return m.Data == "" && o != nil && o.Kind == string(agentapi.OrderInitialise) && o.State == string(agentapi.OrderFailed)
}
