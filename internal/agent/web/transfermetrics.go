package web

import (
	"io"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// writeTransferMetrics writes what is known of state transfers, got and given.
func writeTransferMetrics(w io.Writer, r agentapi.Report) {
	if j := r.Join; j != nil {
		end, running := time.Now(), 1.0
		if j.EndedAt != nil {
			end, running = *j.EndedAt, 0
		}
		gauge(w, "galera_join_running", "Whether the node is joining; kind, donor and phase are labels.", running,
			"kind", j.Kind, "donor", j.Donor, "phase", j.Phase)
		gauge(w, "galera_join_seconds", "Duration of the last, or running, join.", end.Sub(j.StartedAt).Seconds(), "kind", j.Kind)
		gauge(w, "galera_join_bytes", "Bytes received in the last, or running, full transfer.", float64(j.Bytes))
		gauge(w, "galera_join_total_bytes", "Size of the donor's data.", float64(j.Total))
		gauge(w, "galera_join_bytes_per_second", "Recent rate of a running full transfer.", float64(j.Rate))
		gauge(w, "galera_join_write_sets", "Write-sets the last, or running, incremental transfer brought.", float64(j.WriteSets))
		gauge(w, "galera_join_behind_write_sets", "Write-sets the other nodes are ahead of one that catches up.", float64(j.Behind))
	}
	for i, kind := range []string{agentapi.JoinIST, agentapi.JoinSST} {
		header(w, "galera_transfers_given", "State transfers given to other nodes since the agent started.", i == 0)
		sample(w, "galera_transfers_given", float64(r.Given[kind]), "kind", kind)
	}
	if c := r.Cache; c != nil {
		gauge(w, "galera_cache_bytes", "Size of the cache of write-sets.", float64(c.Size))
		gauge(w, "galera_cache_oldest", "Oldest seqno in the cache of write-sets.", float64(c.Oldest))
		gauge(w, "galera_cache_window_seconds", "About how long a node may be away and still catch up from this one; 0 when there is no telling.", float64(c.WindowSeconds))
	}
	gauge(w, "galera_transfer_giving", "Whether the node gives a state transfer.", flag(r.Giving != nil))
	gauge(w, "galera_data_bytes", "Size of a full copy of the node's data.", float64(r.DataBytes))
}
