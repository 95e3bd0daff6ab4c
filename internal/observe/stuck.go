package observe

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

// inability says why a member whose agent answers cannot act. A failure may outlast what it tells of, so the
// rest of the report has to agree.
func inability(r agentapi.Report) cluster.Inability {
	switch {
	case r.Killed:
		return cluster.Killed
	case r.Failure == nil:
		return cluster.Able
	}
	switch r.Failure.Reason {
	case agentapi.FailureFrozen:
		return cluster.Frozen
	case agentapi.FailureReadOnly:
		return cluster.ReadOnly
	case agentapi.FailureHung:
		if r.Server == nil && slices.Contains([]cluster.Phase{cluster.PhaseStarting, cluster.PhaseRunning, cluster.PhaseStopping}, r.Phase) {
			return cluster.Hung
		}
	case agentapi.FailureExamining:
		if r.Server == nil && r.Phase == cluster.PhaseExamining {
			return cluster.SlowLook
		}
	}
	return cluster.Able
}

// cannotStart says why the agent would refuse to start its data as a component, whatever they are: what it lacks
// does not come by itself.
func cannotStart(r agentapi.Report) string {
	if r.Phase != cluster.PhaseFailed || r.Failure == nil || r.Server != nil {
		return ""
	}
	switch r.Failure.Reason {
	case agentapi.FailureNoServer, agentapi.FailureNoProvider, agentapi.FailureConfig, agentapi.FailureCertificate:
		return r.Failure.Message
	}
	return ""
}
