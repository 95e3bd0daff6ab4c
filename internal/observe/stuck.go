package observe

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// inability returns the reason why a member whose agent answers cannot act. A failure may outlast its cause, so
// the rest of the report has to agree.
func inability(r agentapi.Report) galera.Inability {
	switch {
	case r.Killed:
		return galera.Killed
	case r.Failure == nil:
		return galera.Able
	}
	switch r.Failure.Reason {
	case agentapi.FailureFrozen:
		return galera.Frozen
	case agentapi.FailureReadOnly:
		return galera.ReadOnly
	case agentapi.FailureHung:
		if r.Server == nil && slices.Contains([]galera.Phase{galera.PhaseStarting, galera.PhaseRunning, galera.PhaseStopping},
			r.Phase) {
			return galera.Hung
		}
	case agentapi.FailureExamining:
		if r.Server == nil && r.Phase == galera.PhaseExamining {
			return galera.SlowExamination
		}
	}
	return galera.Able
}

// cannotStart returns the reason why the agent would refuse to start its data as a component, whatever they are: what
// it lacks does not come by itself.
func cannotStart(r agentapi.Report) string {
	// one that was stopped by order, and could not start either
	down := r.Phase == galera.PhaseFailed || r.Phase == galera.PhaseStopped
	if !down || r.Failure == nil || r.Server != nil {
		return ""
	}
	switch r.Failure.Reason {
	case agentapi.FailureNoServer, agentapi.FailureNoProvider, agentapi.FailureConfig, agentapi.FailureCertificate:
		return r.Failure.Message
	}
	return ""
}
