package status

import (
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// memberFailure reports why a node cannot run, and the remedy: first one that requires manual action.
func memberFailure(in Input) *validate.Problem {
	var first *validate.Problem
	for _, m := range in.Snapshot.Members {
		if m.Failure == nil || expansionPending(in, m) {
			continue
		}
		p := failureOf(in, m)
		if p.Blocked {
			return p
		}
		if first == nil {
			first = p
		}
	}
	return first
}

// failureOf is the failure of a node. Its own words come first, and are only quoted: the remedy is the operator's.
func failureOf(in Input, m galera.Member) *validate.Problem {
	p := &validate.Problem{Reason: v1alpha1.ReasonMemberFailed}
	advice, pod, empty := "", []string{"delete", "pod", m.Name, "-n", in.cluster().Namespace}, ""
	if othersServe(in, m) {
		empty = galera.EmptyVolume(m.Name, in.cluster().Namespace)
	}
	blocked := func(reason, command, remedy string) {
		p.Reason, p.Blocked, p.Command, advice = reason, true, command, remedy
	}
	switch m.Failure.Reason {
	case agentapi.FailureSettings:
		blocked(v1alpha1.ReasonSettingsRefused, "", settingsAdvice(in))
	case agentapi.FailureForeignUUID, agentapi.FailureDiverged:
		blocked(v1alpha1.ReasonForeignData, empty,
			". Bring back the right volume; or, if its data are not needed, give it an empty one: the node then joins by SST")
	case agentapi.FailureOtherCluster:
		blocked(v1alpha1.ReasonForeignData, empty, ". For a node that joins by SST, give it an empty volume")
	case agentapi.FailureDowngrade:
		blocked(v1alpha1.ReasonDowngradeRefused, empty, "")
	case agentapi.FailureUpgrade:
		blocked(v1alpha1.ReasonUpgradeFailed, "", ". Set spec.image to another image, or back to the previous one")
	case agentapi.FailureStart, agentapi.FailureInitialisation:
		p.Blocked, advice = startAdvice(in, m)
	case agentapi.FailureOrderBook:
		blocked(v1alpha1.ReasonOrderBookDamaged, empty, "")
	case agentapi.FailureHung:
		blocked(p.Reason, kubectl(append(pod, "--wait=false")...),
			". Work that needs only the other nodes continues; everything else waits for this one. Check its "+
				"storage, and delete its pod to restart it")
	case agentapi.FailureLogin:
		blocked(p.Reason, kubectl(append(pod, "--wait=false")...),
			". What it serves is not known. Its accounts are restored when "+
				"it starts: delete its pod. An imported dump must leave out the schema mysql (docs/migration.md)")
	case agentapi.FailureRoot:
		blocked(p.Reason, "", ". The statement is repeated; correct spec.mariadb.config")
	case agentapi.FailureExamining:
		blocked(p.Reason, "", ". The examination continues and may still succeed; check the storage of its host")
	case agentapi.FailureFrozen:
		blocked(p.Reason, "",
			". Check the storage of its host. Its server is not killed, and continues when the volume answers again")
	case agentapi.FailureReadOnly:
		blocked(p.Reason, kubectl(pod...), ". Repair the volume, then delete the pod. Or, while other nodes "+
			"serve, delete its claim with it: the node joins by SST")
	case agentapi.FailureKeys:
		blocked(v1alpha1.ReasonKeysUnusable, empty, keysAdvice(in, m))
	case agentapi.FailureDiskFull:
		blocked(v1alpha1.ReasonDiskFull, "", freeSpaceAdvice(in, m))
	case agentapi.FailureCertificate:
		advice = ". See the condition CertificatesValid; in a state transfer, the refused certificate can be the donor's"
	case agentapi.FailureTransfer, agentapi.FailureStalled, agentapi.FailureDonorLost:
		p.Reason, advice = v1alpha1.ReasonTransferFailed, ". The node tries again, with another donor if there is one"
	}
	p.Message = m.Name + ": " + m.Failure.Message + advice
	return p
}

// othersServe returns whether another node is in the Primary component: this one can be filled anew from it.
func othersServe(in Input, m galera.Member) bool {
	return slices.ContainsFunc(in.Snapshot.Members,
		func(o galera.Member) bool { return o.Name != m.Name && o.InPrimary() })
}

// beingRestarted returns whether the rolling restart in progress is that of this node.
func beingRestarted(in Input, m galera.Member) bool {
	op := in.Snapshot.Operation
	return op != nil && op.Type == galera.OpRestart && op.Target == m.Name
}

// startAdvice describes what to do about a server that does not start, and whether manual action is required.
func startAdvice(in Input, m galera.Member) (blocked bool, advice string) {
	switch {
	case neverServed(in):
		return true,
			". No node has served yet, so no data can be lost. Correct spec.mariadb.config or spec.image; the start is tried " +
				"again by itself"
	case beingRestarted(in, m):
		return false, ". The rolling restart is halted: correct the change, or undo it"
	}
	return false, ""
}

// settingsAdvice describes what to do about a setting that a server does not start with.
func settingsAdvice(in Input) string {
	if neverServed(in) {
		return ". Correct spec.mariadb.config. No node has served yet, so no data can be lost; the start is tried again by " +
			"itself"
	}
	return ". Correct spec.mariadb.config; the node is started again by itself"
}

// neverServed reports whether the cluster is new: it has no history, and no member has data beyond a database that was
// just made.
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
	return m.Data == "" && o != nil && o.Kind == string(agentapi.OrderInitialise) &&
		o.State == string(agentapi.OrderFailed)
}
