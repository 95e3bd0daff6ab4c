package metrics

import (
	"github.com/galera-operator/galera-operator/internal/galera"
)

// phases are all an agent can be in.
var phases = []galera.Phase{galera.PhaseExamining, galera.PhaseWaiting, galera.PhaseInitialising, galera.PhaseStarting,
	galera.PhaseRunning,
	galera.PhaseStopping, galera.PhaseStopped, galera.PhaseFailed}

// agentFamilies are about the agent itself, of a node or of an arbitrator.
var agentFamilies = []Family{
	{"galera_agent_info", "Versions of the agent, of mariadbd, and of Galera.", gauge,
		[]string{"version", "server", "provider"}, func(f Facts, send send) {
			send(1, f.Report.AgentVersion, f.Report.Image.ServerVersion, f.Report.Image.ProviderVersion)
		}},
	{"galera_agent_phase", "1 for the phase the agent is in, 0 for the others.", gauge, []string{"phase"},
		func(f Facts, send send) {
			for _, p := range phases {
				send(flag(f.Report.Phase == p), string(p))
			}
		}},
	{"galera_agent_failure", "1 with the reason why the node cannot run, or did not run last; no series without one.",
		gauge, []string{"reason"}, func(f Facts, send send) {
			if why := f.Report.Failure; why != nil {
				send(1, why.Reason)
			}
		}},
	{"galera_agent_draining", "Whether the pod is terminating.", gauge, nil,
		func(f Facts, send send) { send(flag(f.Report.Draining)) }},
	{"galera_agent_restart_needed", "Whether the server needs a restart, as one with settings other than the published " +
		"ones does.", gauge, nil,
		func(f Facts, send send) {
			send(flag(f.Report.Config.RestartNeeded))
		}},
}

// serverFamilies are about the process, mariadbd or garbd.
var serverFamilies = []Family{
	{"galera_server_restarts_total", "Times mariadbd, or garbd, has ended by itself since the agent started.", counter,
		nil, func(f Facts, send send) {
			send(float64(f.Report.Restarts))
		}},
}
