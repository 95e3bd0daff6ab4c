package metrics

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// joinFamily is a metric of the last, or running, join.
func joinFamily(name, help string, labels []string, of func(j *agentapi.Join, now time.Time, send send)) Family {
	return Family{name, help, gauge, labels, func(f Facts, send send) {
		if j := f.Report.Join; j != nil {
			of(j, f.Now, send)
		}
	}}
}

// joinFamilies are about the state transfer the node gets.
var joinFamilies = []Family{
	joinFamily("galera_join_running", "Whether the node is joining.", nil,
		func(j *agentapi.Join, _ time.Time, send send) { send(flag(j.EndedAt == nil)) }),
	joinFamily("galera_join_info",
		"The last, or running, join: by SST, IST or None (nothing was missing), from which donor, and its phase.",
		[]string{"kind", "donor", "phase"}, func(j *agentapi.Join, _ time.Time,
			send send) {
			send(1, j.Kind, j.Donor, j.Phase)
		}),
	joinFamily("galera_join_seconds", "Duration of the last, or running, join.", []string{"kind"},
		func(j *agentapi.Join, now time.Time, send send) {
			if j.EndedAt != nil {
				now = *j.EndedAt
			}
			send(now.Sub(j.StartedAt).Seconds(), j.Kind)
		}),
	joinFamily("galera_join_bytes", "Bytes received in the last, or running, SST.", nil,
		func(j *agentapi.Join, _ time.Time, send send) { send(float64(j.Bytes)) }),
	joinFamily("galera_join_total_bytes", "Size of the donor's data.", nil,
		func(j *agentapi.Join, _ time.Time, send send) {
			if j.Total > 0 {
				send(float64(j.Total))
			}
		}),
	joinFamily("galera_join_bytes_per_second", "Recent rate of a running SST.", nil,
		func(j *agentapi.Join, _ time.Time, send send) { send(float64(j.Rate)) }),
	joinFamily("galera_join_write_sets", "Write-sets the last, or running, IST brought.", nil,
		func(j *agentapi.Join, _ time.Time, send send) { send(float64(j.WriteSets)) }),
	joinFamily("galera_join_behind_write_sets", "Write-sets the other nodes are ahead of one that catches up.", nil,
		func(j *agentapi.Join, _ time.Time, send send) {
			send(float64(j.Behind))
		}),
	joinFamily("galera_join_last_progress_timestamp_seconds",
		"When a running join made progress last, in seconds since 1970.", nil,
		func(j *agentapi.Join, _ time.Time, send send) {
			if j.EndedAt == nil {
				send(unix(j.Progress()))
			}
		}),
}

// donorFamilies are about what the node gives to others.
var donorFamilies = []Family{
	{"galera_transfers_given_total", "State transfers given to other nodes since the agent started.", counter,
		[]string{"kind"}, func(f Facts, send send) {
			for _, kind := range []string{agentapi.JoinIST, agentapi.JoinSST} {
				send(float64(f.Report.Donations[kind]), kind)
			}
		}},
	{"galera_transfer_giving", "Whether the node is the donor of a state transfer.", gauge, nil,
		func(f Facts, send send) { send(flag(f.Report.Donation != nil)) }},
	{"galera_backup_giving", "Whether the node streams a backup.", gauge, nil, func(f Facts, send send) {
		send(flag(f.Report.Backup != nil && f.Report.Backup.Running))
	}},
	{"galera_data_bytes", "Size of a full copy of the node's data.", gauge, nil, func(f Facts, send send) {
		if f.Report.DataBytes > 0 {
			send(float64(f.Report.DataBytes))
		}
	}},
}

// cacheFamilies are about Galera's cache of write-sets.
var cacheFamilies = []Family{
	{"galera_cache_bytes", "Size of the cache of write-sets (gcache).", gauge, nil, func(f Facts, send send) {
		if c := f.Report.Cache; c != nil {
			send(float64(c.Size))
		}
	}},
	{"galera_cache_oldest_seqno", "Seqno of the oldest write-set in the cache.", gauge, nil, func(f Facts, send send) {
		if c := f.Report.Cache; c != nil && c.Oldest > 0 {
			send(float64(c.Oldest))
		}
	}},
	{"galera_cache_window_seconds",
		"About how long a node may be away and still get IST from this one, at the rate of writes seen so far.", gauge, nil,
		func(f Facts, send send) {
			if c := f.Report.Cache; c != nil && c.WindowSeconds > 0 {
				send(float64(c.WindowSeconds))
			}
		}},
}
