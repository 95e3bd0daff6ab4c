package agent

import (
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/follow"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// following returns what the channel of a source depends on.
func following(a *agent) follow.Dependencies {
	return follow.Dependencies{Run: &a.run, Group: &a.group,
		Wanted: func() (*agentapi.Follow, bool) {
			if a.config.Node == nil {
				return nil, false
			}
			return a.config.Node.Follow, true
		},
		Superseded: func() (refuse, known bool) {
			if a.config.Node == nil {
				return false, false
			}
			return a.config.Node.Refuse, true
		},
		Leased: func() (guarded, known bool) {
			if a.config.Node == nil {
				return false, false
			}
			return a.config.Node.Lease, true
		},
		LeaseUnwanted: func() int64 {
			if a.config.Node == nil {
				return 0
			}
			return a.config.Node.LeaseUnwanted
		},
		Guard:     a.guard,
		Switching: func() int64 { return a.config.Node.SwitchNumber() },
		Primary:   func() string { return a.role.primary }, Draining: a.queue.Draining,
		Published: func() agentapi.Report { return a.reports.Get() },
		Ask:       a.poll.Poke,
		Mode:      func() string { return config.Mode(a.config.Node.Settings) },
	}
}
