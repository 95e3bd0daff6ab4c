package agent

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestFailureOfAStoppedMember: a member that was stopped by order reports what would keep it from starting now, not
// that an earlier attempt to join failed: the operator would ask to start without its data.
func TestFailureOfAStoppedMember(t *testing.T) {
	failed := &agentapi.Failure{Reason: agentapi.FailureCertificate, Message: "IST from shop-0 failed"}
	now := &agentapi.Failure{Reason: agentapi.FailureNoProvider, Message: "no provider"}
	for name, c := range map[string]struct {
		step lifecycle.Step
		want *agentapi.Failure
	}{
		"it waits for the next attempt": {lifecycle.Step{Phase: galera.PhaseWaiting}, failed},
		"stopped":                       {lifecycle.Step{Phase: galera.PhaseStopped}, nil},
		"stopped, and cannot start":     {lifecycle.Step{Phase: galera.PhaseStopped, Failure: now}, now},
	} {
		a := &agent{serving: &process.Maintainer{}}
		a.run.Attempts.Failure = failed
		if got := a.shownFailure(c.step); (got == nil) != (c.want == nil) || got != nil && got.Reason != c.want.Reason {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
