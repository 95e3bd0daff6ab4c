package agentapi

import "github.com/galera-operator/galera-operator/internal/galera"

// PeerView is what a member may learn of another, which both prove to be.
type PeerView struct {
	Name string `json:"name"`
	// Cluster is as in the Report: the answer of another cluster's member does not count.
	Cluster   Identity              `json:"cluster,omitzero"`
	Component galera.ComponentState `json:"component"`
	State     galera.NodeState      `json:"state"`
	// ClusterUUID is wsrep_cluster_state_uuid, "" when not connected.
	ClusterUUID string `json:"clusterUUID,omitempty"`
	Draining    bool   `json:"draining,omitempty"`
	// Forming reports whether the member is carrying out an order that makes it Primary: no other member may
	// be made Primary meanwhile.
	Forming bool `json:"forming,omitempty"`
	// Data and Position are as in the Report.
	Data     galera.DataState `json:"data,omitempty"`
	Position galera.Position  `json:"position,omitzero"`
	// Lineage are the lines of history the member belongs to.
	Lineage galera.Lineage `json:"lineage,omitzero"`
	// LoggedSince is as in the Report.
	LoggedSince galera.Position `json:"loggedSince,omitzero"`
	// Primary reports whether this member is the primary, as far as it knows.
	Primary bool `json:"primary,omitempty"`
	// Scheduler and Channel are as in the Report.
	Scheduler string `json:"scheduler,omitempty"`
	Channel   string `json:"channel,omitempty"`
	// ChannelUntil and ChannelFenced are as in the Report.
	ChannelUntil  string `json:"channelUntil,omitempty"`
	ChannelFenced bool   `json:"channelFenced,omitempty"`
	// ChannelEnds is as in the Report.
	ChannelEnds ChannelEnds `json:"channelEnds,omitzero"`
	// ChannelSource is as in the Report.
	ChannelSource string `json:"channelSource,omitempty"`
	// DataBytes is the size of an SST of its data, 0 while not known.
	DataBytes int64 `json:"dataBytes,omitempty"`
	// Settling reports whether the group remembers an evicted server: a joiner would make it wait for that server
	// (evs.install_timeout).
	Settling bool `json:"settling,omitempty"`
	// Donation is the state transfer of which the member is the donor now.
	Donation *Donation `json:"giving,omitempty"`
	// LastDonation is the last one that ended, nil while Donation is set: a short transfer may begin and end between two
	// questions of its joiner.
	LastDonation *Donation `json:"gave,omitempty"`
	// Version is that of the image's mariadbd, Tables that of the system tables; "" while not known.
	Version string `json:"version,omitempty"`
	Tables  string `json:"tables,omitempty"`
	// Socket is the mode its group communication runs with, "" while its mariadbd is down.
	Socket galera.SocketMode `json:"socket,omitempty"`
	// Members are the names of the members of its Primary component, empty when not known.
	Members []string `json:"members,omitempty"`
}
