package observe

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

func TestInability(t *testing.T) {
	server := &agentapi.Server{Component: cluster.ComponentPrimary}
	report := func(reason string, phase cluster.Phase, s *agentapi.Server) agentapi.Report {
		r := agentapi.Report{Phase: phase, Server: s}
		if reason != "" {
			r.Failure = &agentapi.Failure{Reason: reason}
		}
		return r
	}
	killed := report(agentapi.FailureFrozen, cluster.PhaseStopping, nil)
	killed.Killed = true
	for name, c := range map[string]struct {
		r    agentapi.Report
		want cluster.Inability
	}{
		"well":                           {report("", cluster.PhaseRunning, server), cluster.Able},
		"another failure":                {report(agentapi.FailureStart, cluster.PhaseWaiting, nil), cluster.Able},
		"hung from the start":            {report(agentapi.FailureHung, cluster.PhaseStarting, nil), cluster.Hung},
		"hung, and told to stop":         {report(agentapi.FailureHung, cluster.PhaseStopping, nil), cluster.Hung},
		"it answers again":               {report(agentapi.FailureHung, cluster.PhaseRunning, server), cluster.Able},
		"it has ended":                   {report(agentapi.FailureHung, cluster.PhaseWaiting, nil), cluster.Able},
		"killed, whatever else there is": {killed, cluster.Killed},
		"examined for long":              {report(agentapi.FailureExamining, cluster.PhaseExamining, nil), cluster.SlowLook},
		"that is over":                   {report(agentapi.FailureExamining, cluster.PhaseStopped, nil), cluster.Able},
		"frozen, and it serves":          {report(agentapi.FailureFrozen, cluster.PhaseRunning, server), cluster.Frozen},
		"read-only":                      {report(agentapi.FailureReadOnly, cluster.PhaseFailed, nil), cluster.ReadOnly},
	} {
		if got := inability(c.r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestCannotStart(t *testing.T) {
	r := agentapi.Report{Phase: cluster.PhaseFailed, Failure: &agentapi.Failure{Reason: agentapi.FailureNoProvider, Message: "no provider"}}
	if why := cannotStart(r); why != "no provider" {
		t.Errorf("%q", why)
	}
	r.Phase = cluster.PhaseWaiting
	if why := cannotStart(r); why != "" {
		t.Errorf("of earlier: %q", why)
	}
	r.Phase, r.Failure.Reason = cluster.PhaseFailed, agentapi.FailureStart
	if why := cannotStart(r); why != "" {
		t.Errorf("an attempt that failed: %q", why)
	}
}
