package web

import (
	"io"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// WriteArbitratorMetrics writes what is known of an arbitrator.
func WriteArbitratorMetrics(w io.Writer, r agentapi.Report) {
	gauge(w, "galera_agent_info", "Versions of the agent and the server.", 1, "version", r.AgentVersion, "server", "", "provider", r.Image.ProviderVersion)
	gauge(w, "galera_agent_phase", "What the agent is doing; the phase is the label.", 1, "phase", string(r.Phase))
	gauge(w, "galera_agent_restarts_total", "How often garbd has ended by itself since the agent started.", float64(r.Restarts))
	gauge(w, "galera_agent_restart_needed", "Whether garbd runs with settings other than the published ones.", flag(r.Config.RestartNeeded))
	gauge(w, "galera_arbitrator_counted", "Whether a node counts the arbitrator as a member of the Primary component.",
		flag(r.Arbitration != nil && r.Arbitration.Counted))
	if r.TLS.LoadedNotAfter != nil {
		gauge(w, "galera_certificate_not_after_seconds", "End of validity of the loaded certificate.", float64(r.TLS.LoadedNotAfter.Unix()))
	}
	if f, ok := r.TLS.Channels[agentapi.ChannelReplication]; ok {
		gauge(w, "galera_channel_encrypted", "Whether only TLS was observed on the channel.", flag(f.Observed == agentapi.ObservedTLS),
			"channel", agentapi.ChannelReplication)
	}
}
