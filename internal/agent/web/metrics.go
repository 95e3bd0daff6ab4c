package web

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func (p Probe) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	report := p.Reports.Get()
	writeMetrics(w, report, p.Counters())
	writeUsage(w, report, p.Free)
}

// writeMetrics writes the Prometheus text format by hand: a dozen gauges are not worth a library
// in a process that lives beside a database.
func writeMetrics(w io.Writer, r agentapi.Report, counters map[string]float64) {
	gauge(w, "galera_agent_info", "Versions of the agent and the server.", 1,
		"version", r.AgentVersion, "server", r.Image.ServerVersion, "provider", r.Image.ProviderVersion)
	gauge(w, "galera_agent_phase", "What the agent is doing; the phase is the label.", 1, "phase", string(r.Phase))
	gauge(w, "galera_agent_restarts_total", "How often mariadbd has ended by itself since the agent started.", float64(r.Restarts))
	gauge(w, "galera_agent_draining", "Whether the node is on its way out.", flag(r.Draining))
	gauge(w, "galera_agent_restart_needed", "Whether mariadbd runs with settings other than the published ones.", flag(r.Config.RestartNeeded))
	if r.Position.Known() {
		gauge(w, "galera_last_committed", "Last committed seqno.", float64(r.Position.Seqno))
	}
	if s := r.Server; s != nil {
		gauge(w, "galera_primary", "Whether the node is in a Primary component.", flag(s.Component == galera.ComponentPrimary))
		gauge(w, "galera_synced", "Whether the node is Synced.", flag(s.State == galera.NodeSynced))
		gauge(w, "galera_ready", "wsrep_ready.", flag(s.Ready))
		gauge(w, "galera_cluster_size", "Members of the component.", float64(s.Size))
		gauge(w, "galera_receive_queue", "Write-sets received and not yet applied.", float64(s.ReceiveQueue))
		for _, name := range slices.Sorted(maps.Keys(counters)) {
			gauge(w, "galera_status_"+strings.ToLower(strings.TrimPrefix(name, "wsrep_")), "Status variable "+name+".", counters[name])
		}
	}
	if r.TLS.LoadedNotAfter != nil {
		gauge(w, "galera_certificate_not_after_seconds", "End of validity of the loaded certificate.", float64(r.TLS.LoadedNotAfter.Unix()))
	}
	for i, channel := range slices.Sorted(maps.Keys(r.TLS.Channels)) {
		f := r.TLS.Channels[channel]
		header(w, "galera_channel_encrypted", "Whether only TLS was observed on the channel.", i == 0)
		sample(w, "galera_channel_encrypted", flag(f.Observed == agentapi.ObservedTLS), "channel", channel)
	}
	writeTransferMetrics(w, r)
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func gauge(w io.Writer, name, help string, value float64, labels ...string) {
	header(w, name, help, true)
	sample(w, name, value, labels...)
}

func header(w io.Writer, name, help string, first bool) {
	if first {
		_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	}
}

func sample(w io.Writer, name string, value float64, labels ...string) {
	pairs := make([]string, 0, len(labels)/2)
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
	}
	set := ""
	if len(pairs) > 0 {
		set = "{" + strings.Join(pairs, ",") + "}"
	}
	_, _ = fmt.Fprintf(w, "%s%s %s\n", name, set, strconv.FormatFloat(value, 'g', -1, 64))
}
