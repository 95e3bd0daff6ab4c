package metrics

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// nodeFamilies are about a node's place in its cluster.
var nodeFamilies = []Family{
	{"galera_server_start_time_seconds", "When mariadbd was started, in seconds since 1970.", gauge, nil,
		func(f Facts, send send) {
			if s := f.Report.Server; s != nil {
				send(unix(s.StartedAt))
			}
		}},
	{"galera_last_committed", "Seqno of the last committed write-set, also while mariadbd is down.", gauge, nil,
		func(f Facts, send send) {
			if f.Report.Position.Known() {
				send(float64(f.Report.Position.Seqno))
			}
		}},
	{"galera_primary_component", "Whether the node is in a Primary component.", gauge, nil, func(f Facts, send send) {
		if s := f.Report.Server; s != nil {
			send(flag(s.Component == galera.ComponentPrimary))
		}
	}},
	{"galera_primary_node", "Whether the node is the primary, which clients are sent to.", gauge, nil,
		func(f Facts, send send) {
			if f.Report.Primary != "" {
				send(flag(f.Report.Primary == f.Report.Name))
			}
		}},
	{"galera_synced", "Whether the node is Synced.", gauge, nil, func(f Facts, send send) {
		if s := f.Report.Server; s != nil {
			send(flag(s.State == galera.NodeSynced))
		}
	}},
	{"galera_node_state", "1 with the state of the node in its group; no series while mariadbd does not answer.", gauge,
		[]string{"state"}, func(f Facts, send send) {
			if s := f.Report.Server; s != nil && s.State != "" {
				send(1, string(s.State))
			}
		}},
	{"galera_component_member", "1 for each member of the node's component, by its name.", gauge, []string{"member"},
		func(f Facts, send send) {
			if s := f.Report.Server; s != nil {
				for _, name := range slices.Compact(slices.Sorted(slices.Values(s.Members))) {
					send(1, name)
				}
			}
		}},
	{"galera_ready", "Whether the node takes queries (wsrep_ready).", gauge, nil, func(f Facts, send send) {
		if s := f.Report.Server; s != nil {
			send(flag(s.Ready))
		}
	}},
	{"galera_cluster_size", "Members of the node's component, the arbitrator included.", gauge, nil,
		func(f Facts, send send) {
			if s := f.Report.Server; s != nil {
				send(float64(s.Size))
			}
		}},
	{"galera_view", "Number of the component's view; it changes with every node that leaves or joins.", gauge, nil,
		func(f Facts, send send) {
			if s := f.Report.Server; s != nil {
				send(float64(s.ViewID))
			}
		}},
	{"galera_replication_round_trip_seconds", "Smallest TCP round trip to the node that is farthest away.", gauge, nil,
		func(f Facts, send send) {
			if r := f.Report.Replication; r != nil && r.RoundTripMicroseconds > 0 {
				send(float64(r.RoundTripMicroseconds) / 1e6)
			}
		}},
	{"galera_replication_user_send_window",
		"Messages with write-sets that the node may have in flight at once (evs.user_send_window).", gauge, nil,
		func(f Facts, send send) {
			if r := f.Report.Replication; r != nil {
				send(float64(r.SendWindows.UserSendWindow))
			}
		}},
	{"galera_write_lease_renewal_timestamp_seconds", "When the site's lease was renewed last for the node, which takes " +
		"writes for some 20 seconds from then; no series for a node that needs none, or has heard of none.", gauge, nil,
		func(f Facts, send send) {
			if f.Renewed != nil {
				send(unix(f.Now.Add(-*f.Renewed)))
			}
		}},
	{"galera_receive_queue", "Write-sets received and not yet applied.", gauge, nil, func(f Facts, send send) {
		if s := f.Report.Server; s != nil {
			send(float64(s.ReceiveQueue))
		}
	}},
}

// arbitratorFamilies are about an arbitrator's place in its cluster.
var arbitratorFamilies = []Family{
	{"galera_arbitrator_counted", "Whether a node counts the arbitrator as a member of the Primary component.", gauge, nil,
		func(f Facts, send send) {
			send(flag(f.Report.Arbitration != nil && f.Report.Arbitration.Counted))
		}},
}
