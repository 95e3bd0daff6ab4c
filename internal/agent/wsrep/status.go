package wsrep

import (
	"strconv"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// statusNames are the status variables the agent reads.
var statusNames = []string{
	"wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_ready", "wsrep_cluster_state_uuid",
	"wsrep_local_state_uuid", "wsrep_last_committed", "wsrep_cluster_conf_id", "wsrep_cluster_size",
	"wsrep_local_index", "wsrep_gcomm_uuid", "wsrep_local_recv_queue", "wsrep_provider_version",
	"wsrep_replicated_bytes", "wsrep_received_bytes", "wsrep_local_cached_downto", "wsrep_evs_state",
	"wsrep_evs_evict_list", "wsrep_flow_control_sent", "wsrep_flow_control_requested",
}

// Status is one reading.
type Status struct {
	Server agentapi.Server
	// Position is the last committed one of the local state.
	Position galera.Position
	// ProviderVersion is wsrep_provider_version.
	ProviderVersion string
	// CachedFrom is the oldest write-set others can catch up from, 0 for none.
	CachedFrom int64
	// Evicted reports whether the group remembers servers that were evicted; Agreed that it is not about to
	// change its membership.
	Evicted, Agreed bool
	// VotedOut reports whether the group has found the data to differ from the others'.
	VotedOut bool
	// Written is how many bytes of write-sets the server has sent to its group, or received, since it was started.
	Written int64
	// Pauses is how often the server has asked its group to wait for it; Pausing that it does so now.
	Pauses  int64
	Pausing bool
}

// parseStatus makes a Status of what SHOW GLOBAL STATUS returned. What is missing or strange
// stays unknown.
func parseStatus(v map[string]string) Status {
	s := Status{
		Server: agentapi.Server{
			Component:    component(v["wsrep_cluster_status"]),
			State:        state(v["wsrep_local_state_comment"]),
			Ready:        v["wsrep_ready"] == "ON",
			ClusterUUID:  v["wsrep_cluster_state_uuid"],
			ViewID:       number(v["wsrep_cluster_conf_id"], 0),
			Size:         int(number(v["wsrep_cluster_size"], 0)),
			Index:        int(number(v["wsrep_local_index"], -1)),
			NodeUUID:     v["wsrep_gcomm_uuid"],
			ReceiveQueue: number(v["wsrep_local_recv_queue"], 0),
		},
		ProviderVersion: v["wsrep_provider_version"],
		CachedFrom:      max(0, number(v["wsrep_local_cached_downto"], 0)),
		Evicted:         v["wsrep_evs_evict_list"] != "",
		Agreed:          v["wsrep_evs_state"] == "OPERATIONAL",
		VotedOut:        v["wsrep_local_state_comment"] == "Inconsistent",
		Written:         number(v["wsrep_replicated_bytes"], 0) + number(v["wsrep_received_bytes"], 0),
		Pauses:          number(v["wsrep_flow_control_sent"], 0),
		Pausing:         strings.EqualFold(v["wsrep_flow_control_requested"], "true"),
	}
	// Seen after a failed IST: the provider has closed its connection to the group and reports nothing of it any
	// more, and the server goes on reporting what it received last.
	if s.Server.Component == galera.ComponentNonPrimary && v["wsrep_gcomm_uuid"] == "" && v["wsrep_evs_state"] == "" {
		s.Server.Component = galera.ComponentDisconnected
	}
	if s.Server.Component == galera.ComponentDisconnected {
		s.Server.Size = 0
	}
	if pos, err := galera.ParsePosition(v["wsrep_local_state_uuid"] + ":" + v["wsrep_last_committed"]); err == nil {
		s.Position = pos
	}
	return s
}

func component(s string) galera.ComponentState {
	switch strings.ToLower(s) {
	case "primary":
		return galera.ComponentPrimary
	case "non-primary":
		return galera.ComponentNonPrimary
	case "disconnected":
		return galera.ComponentDisconnected
	}
	return galera.ComponentUnknown
}

// state reads wsrep_local_state_comment, which may be "Joining: receiving State Transfer".
func state(s string) galera.NodeState {
	switch {
	case s == "Synced":
		return galera.NodeSynced
	case s == "Joined":
		return galera.NodeJoined
	case strings.HasPrefix(s, "Donor"):
		return galera.NodeDonor
	case strings.HasPrefix(s, "Join"), s == "Initialized", s == "Undefined":
		return galera.NodeJoining
	}
	return galera.NodeUnknown
}

// number reads a count; Galera prints 18446744073709551615 for "none".
func number(s string, otherwise int64) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}
