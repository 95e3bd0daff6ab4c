package observe

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestInability(t *testing.T) {
	server := &agentapi.Server{Component: galera.ComponentPrimary}
	report := func(reason string, phase galera.Phase, s *agentapi.Server) agentapi.Report {
		r := agentapi.Report{Phase: phase, Server: s}
		if reason != "" {
			r.Failure = &agentapi.Failure{Reason: reason}
		}
		return r
	}
	killed := report(agentapi.FailureFrozen, galera.PhaseStopping, nil)
	killed.Killed = true
	for name, c := range map[string]struct {
		r    agentapi.Report
		want galera.Inability
	}{
		"well":                           {report("", galera.PhaseRunning, server), galera.Able},
		"another failure":                {report(agentapi.FailureStart, galera.PhaseWaiting, nil), galera.Able},
		"hung from the start":            {report(agentapi.FailureHung, galera.PhaseStarting, nil), galera.Hung},
		"hung, and asked to stop":        {report(agentapi.FailureHung, galera.PhaseStopping, nil), galera.Hung},
		"it answers again":               {report(agentapi.FailureHung, galera.PhaseRunning, server), galera.Able},
		"it has ended":                   {report(agentapi.FailureHung, galera.PhaseWaiting, nil), galera.Able},
		"killed, whatever else there is": {killed, galera.Killed},
		"examined for long": {report(agentapi.FailureExamining, galera.PhaseExamining, nil),
			galera.SlowExamination},
		"that is over":          {report(agentapi.FailureExamining, galera.PhaseStopped, nil), galera.Able},
		"frozen, and it serves": {report(agentapi.FailureFrozen, galera.PhaseRunning, server), galera.Frozen},
		"read-only":             {report(agentapi.FailureReadOnly, galera.PhaseFailed, nil), galera.ReadOnly},
	} {
		if got := inability(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCannotStart(t *testing.T) {
	r := agentapi.Report{Phase: galera.PhaseFailed, Failure: &agentapi.Failure{Reason: agentapi.FailureNoProvider,
		Message: "no provider"}}
	if why := cannotStart(r); why != "no provider" {
		t.Errorf("%q", why)
	}
	r.Phase = galera.PhaseStopped
	if why := cannotStart(r); why != "no provider" {
		t.Errorf("stopped by order: %q", why)
	}
	r.Phase = galera.PhaseWaiting
	if why := cannotStart(r); why != "" {
		t.Errorf("of earlier: %q", why)
	}
	r.Phase, r.Failure.Reason = galera.PhaseFailed, agentapi.FailureStart
	if why := cannotStart(r); why != "" {
		t.Errorf("an attempt that failed: %q", why)
	}
}
