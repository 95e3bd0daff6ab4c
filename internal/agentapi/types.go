// Package agentapi is the protocol between the operator, the agents and the plugin:
// the wire types, the ports and paths, and the mTLS client.
//
// The operator talks to an agent over mTLS on ControlPort, the other agents on PeerPort. Kubelet and Prometheus read,
// without secrets, from ProbePort.
package agentapi

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Protocol is the version of this protocol. It grows with a change that the other side cannot ignore; each side
// understands the version before and after its own. Report.Protocol is the agent's, the header ProtocolHeader the
// operator's.
const Protocol = 1

// ProtocolHeader is sent with every request to the control port.
const ProtocolHeader = "Galera-Operator-Protocol"

const (
	// ControlPort is the agent's mTLS port; only the operator may call it.
	ControlPort = 8443
	// ProbePort is the agent's plain HTTP port: probes and metrics.
	ProbePort = 8080
	// PeerPort is the agent's mTLS port for PathPeer: only members of the cluster and its archiver get an answer.
	PeerPort = 8446

	// PathStatus answers GET with a Report. With the query parameters since=<generation>
	// and wait=<Go duration, at most 1m> it answers as soon as Report.Generation differs
	// from since, or when the time is over.
	PathStatus = "/v1/status"
	// PathOrders takes POST of an Order and answers with an OrderResult. 503 means that the
	// agent is in the middle of another order: nothing was recorded, send it again.
	PathOrders = "/v1/orders"
	// PathPrimary takes POST of a Primary and answers with the same.
	PathPrimary = "/v1/primary"
	// PathEvictions takes POST of an Eviction. 200 means that the server is evicted, 409 that the member refused,
	// with the reason.
	PathEvictions = "/v1/evictions"
	// PathPeer answers GET on PeerPort with a PeerView.
	PathPeer = "/v1/peer"
	// PathLive answers 200 on ProbePort while the agent's loop turns.
	PathLive = "/livez"
	// PathReady answers 200 on ProbePort while the node is Primary, Synced and not draining.
	PathReady = "/readyz"
	// PathMetrics serves Prometheus metrics on ProbePort.
	PathMetrics = "/metrics"

	// OperatorName is the DNS SAN (and common name) the operator's client certificate
	// carries; an agent accepts no other name from the control CA.
	OperatorName = "galera-operator.control"
)

// NodeConfig is the document the operator publishes in the ConfigMap <cluster>-config
// under ConfigKey. It is the same for every member; the agent renders my.cnf from it.
type NodeConfig struct {
	// Revision is a hash of everything else, set by the operator.
	Revision string `json:"revision"`
	// Cluster and Namespace name the resource. UID is that of the resource that the cluster was created with: see
	// Identity.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid,omitempty"`
	// History is status.clusterUUID, "" before the first start: an empty member joins no other history. It is not part of
	// Revision.
	History string `json:"history,omitempty"`
	// Members lists all members in ordinal order, this one included.
	Members []Peer `json:"members"`
	// Arbitrator is where the arbitrator is found, nil without one.
	Arbitrator *Peer `json:"arbitrator,omitempty"`
	// TLS is the encryption to run with now (a step of a switch may differ from the spec).
	TLS TLSConfig `json:"tls"`
	// StateTransfer is how full state transfers are made.
	StateTransfer StateTransferConfig `json:"stateTransfer"`
	// Settings are the user's [mysqld] settings, already checked by the operator.
	Settings map[string]string `json:"settings,omitempty"`
	// Hibernated keeps a starting agent from joining by itself.
	Hibernated bool `json:"hibernated,omitempty"`
	// SendWindows fixes the send windows of every member; nil lets each follow the distance it measures. Nothing is
	// restarted for it.
	SendWindows *SendWindows `json:"sendWindows,omitempty"`
	// RunEvents reports whether the primary runs scheduled events. Nothing is restarted for it.
	RunEvents bool `json:"runEvents,omitempty"`
	// LogFormat is how the agent writes its log and its server's: text or json; "" is text. Nothing is restarted for it.
	LogFormat string `json:"logFormat,omitempty"`
	// RootAccess is from where root may log in; nil for everywhere. Nothing is restarted for it.
	RootAccess *RootAccess `json:"rootAccess,omitempty"`
	// AtRest is how what lies on disks is encrypted; nil for not at all.
	AtRest *AtRest `json:"atRest,omitempty"`
	// Follow is the server that the cluster follows; nil for none.
	Follow *Follow `json:"follow,omitempty"`
	// Refuse has every node refuse the writes of clients: another cluster has taken over. Nothing is restarted for it.
	Refuse bool `json:"refuse,omitempty"`
	Refusal
	// Lease has every node refuse the writes of clients while the site's lease is not renewed. Nothing is restarted for
	// it.
	Lease bool `json:"lease,omitempty"`
	// LeaseUnwanted is the generation of the resource while Lease is true, and was turned off: it counts once nodes report
	// that one (LeaseReport.UnwantedHeard). 0 otherwise.
	LeaseUnwanted int64 `json:"leaseUnwanted,omitempty"`
}

// Peer names one member and where its group communication listens.
type Peer struct {
	// Name is the pod's name, for instance shop-0.
	Name string `json:"name"`
	// Host is a DNS name that resolves even while the pod is not ready.
	Host string `json:"host"`
}

// StarvedAfter is the shortest time without a processor that an agent reports. Galera warns after 0.75 s in its own
// thread, and the other members evict a node that is silent for five.
const StarvedAfter = time.Second

// Report is everything an agent knows, as facts. Unknown is a value: a nil pointer or
// an empty string, never a guess.
type Report struct {
	// Name is the pod's name.
	Name string `json:"name"`
	// Cluster is whose member it is, by the configuration it uses; the namespace alone while it has none.
	Cluster Identity `json:"cluster,omitzero"`
	// Boot identifies this run of the agent.
	Boot string `json:"boot"`
	// Generation grows with every change of this report within one Boot, except for
	// changes of Position, counters and times alone.
	Generation int64 `json:"generation"`
	// Protocol is the agent's version of this protocol, 0 of agents before the first one.
	Protocol int `json:"protocol,omitempty"`
	// AgentVersion is the build version of the agent, AgentDigest the SHA-256 of its program in hexadecimal, AgentArch the
	// processor it is for (GOARCH).
	AgentVersion string `json:"agentVersion"`
	AgentDigest  string `json:"agentDigest,omitempty"`
	AgentArch    string `json:"agentArch,omitempty"`
	// Handovers counts how often an agent has replaced another one in this container; HandoverProblem is why the last one
	// did not, "" when it did.
	Handovers       int    `json:"handovers,omitempty"`
	HandoverProblem string `json:"handoverProblem,omitempty"`

	Phase galera.Phase     `json:"phase"`
	Data  galera.DataState `json:"data"`
	// Position is the last known one: wsrep_last_committed of a running node, else from
	// grastate.dat or mariadbd --wsrep-recover. Not Known() when the member has none.
	Position galera.Position `json:"position"`
	// StarvedFor is the longest time in the last minute for which the container got no processor, 0 below StarvedAfter.
	StarvedFor time.Duration `json:"starvedFor,omitempty"`
	// Marked: Galera has marked the data as unsafe. VotedOut: the group has found them to differ (galera.Member).
	Marked   bool `json:"marked,omitempty"`
	VotedOut bool `json:"votedOut,omitempty"`
	// SafeToBootstrap is grastate's safe_to_bootstrap, read while mariadbd is down.
	SafeToBootstrap bool `json:"safeToBootstrap,omitempty"`
	// Server is nil while mariadbd does not answer on its socket.
	Server *Server `json:"server,omitempty"`
	// Draining is true from the moment a stop was asked for.
	Draining bool `json:"draining,omitempty"`

	Config ConfigReport `json:"config"`
	Image  ImageReport  `json:"image"`
	TLS    TLSReport    `json:"tls"`
	Join   *Join        `json:"join,omitempty"`
	Cache  *Cache       `json:"cache,omitempty"`
	// AtRest is what was seen of the encryption on the volume, nil when none is configured.
	AtRest *AtRestReport `json:"atRest,omitempty"`
	// Replication is nil until the windows of the running server are known.
	Replication *Replication `json:"replication,omitempty"`
	Donation    *Donation    `json:"giving,omitempty"`
	// LastDonation is the last one that ended, nil while Donation is set.
	LastDonation *Donation `json:"gave,omitempty"`
	// BookDamaged reports whether the order book cannot be read, whatever else has failed.
	BookDamaged bool `json:"bookDamaged,omitempty"`
	// Killed reports whether mariadbd was sent SIGKILL and has not ended: it never runs another instruction.
	Killed bool `json:"killed,omitempty"`
	// StuckDonor reports whether the server stays a donor without a joiner until it is restarted.
	StuckDonor bool `json:"stuckDonor,omitempty"`
	// Upgrade is the last, or the running, mariadb-upgrade of this run of the agent.
	Upgrade *Upgrade `json:"upgrade,omitempty"`
	// Tables is the version the system tables are of, "" while not known.
	Tables string `json:"tables,omitempty"`
	// Donations counts the transfers of which the member was the donor since its agent started, by kind.
	Donations map[string]int64 `json:"given,omitempty"`
	// DataBytes is the size of an SST of the member's data, Volume what its volume has; 0, or nil, while not known.
	DataBytes int64        `json:"dataBytes,omitempty"`
	Volume    *VolumeSpace `json:"volume,omitempty"`
	// Backup is the backup the member gives, or gave last; nil when its agent has given none.
	Backup *BackupReport `json:"backup,omitempty"`
	// Scheduled are the events of a server that serves, nil while they are not known.
	Scheduled *Scheduled `json:"scheduled,omitempty"`
	// Blocked is the statement of the group's order that has waited for a lock for long, nil while none does.
	Blocked *Blocked `json:"blocked,omitempty"`
	// ZonesFailure is why the tables of time zones could not be filled with the image's zones, "" unless that has failed.
	ZonesFailure string `json:"zonesFailure,omitempty"`
	// Scheduler is whether the server runs scheduled events, Channel whether it runs the channel of a source: TaskOff,
	// TaskOn, or "".
	Scheduler string `json:"scheduler,omitempty"`
	Channel   string `json:"channel,omitempty"`
	// ChannelUntil is Follow.Until as the member knows it. ChannelFenced reports whether its channel applies nothing
	// beyond that from now on.
	ChannelUntil  string `json:"channelUntil,omitempty"`
	ChannelFenced bool   `json:"channelFenced,omitempty"`
	// ChannelEnds is how often the channel has ended the server, absent for never.
	ChannelEnds ChannelEnds `json:"channelEnds,omitzero"`
	// ChannelSource is HOST:PORT of the source that the member follows, or would follow: the last one that it knows the
	// cluster to have followed. "" where there is no choice.
	ChannelSource string `json:"channelSource,omitempty"`
	// Following is how far a member is that follows a source, nil for one that does not, and while it is not known.
	Following *Following `json:"following,omitempty"`
	// Refuses reports whether the server refuses the writes of clients as NodeConfig.Refuse has it.
	Refuses bool `json:"refuses,omitempty"`
	// Refusal is that of the configuration, whether or not the server refuses writes already.
	Refusal Refusal `json:"refusal,omitzero"`
	// Closed is where a server ends that accepts no writes, because another site is to take over.
	Closed Closed `json:"closed,omitzero"`
	// Lease is what is known of the site's lease, nil for one that has none.
	Lease *LeaseReport `json:"lease,omitempty"`
	// Primary is the primary, as the operator has reported it to this member; "" when it has not.
	Primary string `json:"primary,omitempty"`
	// Proxied reports whether a proxy may send statements to this member, as the operator has reported it.
	Proxied  bool         `json:"proxied,omitempty"`
	Failure  *Failure     `json:"failure,omitempty"`
	Order    *OrderRecord `json:"order,omitempty"`
	Restarts int          `json:"restarts"`
	// Waiting describes what a member waits for whose mariadbd is down, or does not answer any more; "" otherwise.
	Waiting string `json:"waiting,omitempty"`
	// OtherPeers are the members at whose address an agent of another cluster answered the last question.
	OtherPeers map[string]Identity `json:"otherPeers,omitempty"`
	// Ended is the last run of mariadbd, when it ended in a Primary component without leaving it; nil else,
	// and while one runs.
	Ended *Ended `json:"ended,omitempty"`
	// Settling is as in PeerView.
	Settling bool `json:"settling,omitempty"`
	// Away are the last times this member did not serve after it had served, in this run of the
	// agent, oldest first.
	Away []Away `json:"away,omitempty"`
	// Lineage are the last bootstraps this member knows to be part of its history. One whose data
	// went on elsewhere has a history of its own: joining would lose or mix the two, so the agent
	// refuses with FailureDiverged.
	Lineage galera.Lineage `json:"lineage,omitzero"`
	// LoggedSince is the position since which the node has written a binary log of its own: not one that came with an SST,
	// and without a run that wrote none. It is not known while mariadbd has not served, or writes none.
	LoggedSince galera.Position `json:"loggedSince,omitzero"`
	// Arbitration is an arbitrator's report of its garbd; nil from a member with data, and while
	// none runs.
	Arbitration *Arbitration `json:"arbitration,omitempty"`
}

// Away is a time without service, as one member saw it.
type Away struct {
	From time.Time `json:"from,omitzero"`
	// To is zero while it lasts.
	To time.Time `json:"to,omitzero"`
	// FromAgeSeconds and ToAgeSeconds are as ChannelFact.AgeSeconds.
	FromAgeSeconds *float64 `json:"fromAgeSeconds,omitempty"`
	ToAgeSeconds   *float64 `json:"toAgeSeconds,omitempty"`
}

// Server is the state of a running mariadbd.
type Server struct {
	Version   string                `json:"version"`
	Component galera.ComponentState `json:"component"`
	State     galera.NodeState      `json:"state"`
	// Ready is wsrep_ready.
	Ready bool `json:"ready"`
	// ClusterUUID is wsrep_cluster_state_uuid.
	ClusterUUID string `json:"clusterUUID"`
	// ViewID identifies the component (wsrep_cluster_conf_id).
	ViewID int64 `json:"viewID"`
	// Size is wsrep_cluster_size.
	Size int `json:"size"`
	// Index is wsrep_local_index.
	Index int `json:"index"`
	// NodeUUID is wsrep_gcomm_uuid.
	NodeUUID string `json:"nodeUUID"`
	// Members are the names (wsrep_node_name) of the component's members, when known.
	Members []string `json:"members,omitempty"`
	// Group are the same members, as their group names them.
	Group []GroupMember `json:"group,omitempty"`
	// ReceiveQueue is wsrep_local_recv_queue.
	ReceiveQueue int64 `json:"receiveQueue"`
	// Lagging reports whether the node has its group wait for it, again and again (flow control).
	Lagging bool `json:"lagging,omitempty"`
	// StartedAt is when this mariadbd was started.
	StartedAt time.Time `json:"startedAt"`
}

// ConfigReport describes which configuration the agent has read and which one runs.
type ConfigReport struct {
	// Loaded is the revision of the NodeConfig the agent has read last.
	Loaded string `json:"loaded"`
	// RestartNeeded is true when mariadbd runs with settings other than the loaded ones, with a former key, or on pages
	// that a restart is to overwrite.
	RestartNeeded bool `json:"restartNeeded"`
	// Socket is the mode group communication runs with now, "" while mariadbd is down.
	Socket galera.SocketMode `json:"socket,omitempty"`
	// Suites are the TLS 1.3 suites the running server allows, empty for the library's default.
	Suites []string `json:"suites,omitempty"`
	// Problem explains why the published configuration was not loaded, "" when it was; Reason is its kind.
	Problem string       `json:"problem,omitempty"`
	Reason  ConfigReason `json:"reason,omitempty"`
}

// ImageReport is what the agent found in the database image.
type ImageReport struct {
	// ServerVersion is from mariadbd --version, for instance "11.8.6-MariaDB".
	ServerVersion string `json:"serverVersion,omitempty"`
	// Provider is the path of libgalera_smm.so; empty when the image has none.
	Provider string `json:"provider,omitempty"`
	// ProviderVersion is wsrep_provider_version, known once mariadbd has run.
	ProviderVersion string `json:"providerVersion,omitempty"`
	// Missing names tools the configuration needs and the image lacks.
	Missing []string `json:"missing,omitempty"`
	// CPUFlags that matter for ciphers: aes, vaes, pclmulqdq, avx2, avx512f.
	CPUFlags []string `json:"cpuFlags,omitempty"`
}

// TLSReport is the observed encryption of this member, from its own dials.
type TLSReport struct {
	// LoadedSerial and LoadedNotAfter describe the pair last loaded into the running server.
	LoadedSerial   string     `json:"loadedSerial,omitempty"`
	LoadedNotAfter *time.Time `json:"loadedNotAfter,omitempty"`
	// Installed is the ID (pki.ID of tls.crt, tls.key, ca.crt, client-ca.crt) of the publication that was taken
	// over from the mounted volume, and that the next mariadbd starts with; "" while there is none.
	// Loaded is the one the running server was given last, "" without one, or without TLS.
	Installed string `json:"installed,omitempty"`
	Loaded    string `json:"loaded,omitempty"`
	// Reloads counts what was loaded into a running server since the agent started, and ReloadSeconds
	// is how long the last took.
	Reloads       int     `json:"reloads,omitempty"`
	ReloadSeconds float64 `json:"reloadSeconds,omitempty"`
	// PublishedSerial describes the pair now on the mounted volume.
	PublishedSerial string `json:"publishedSerial,omitempty"`
	// TrustedCAs are the SHA-256 fingerprints (lower-case hexadecimal) of all CA certificates
	// mariadbd has been given since it started. Galera adds CAs at a reload and drops none,
	// so one that was removed from ca.crt stays trusted, and listed, until the next restart.
	TrustedCAs []string `json:"trustedCAs,omitempty"`
	// PublishedCAs are the fingerprints of the certificates in the published ca.crt.
	PublishedCAs []string `json:"publishedCAs,omitempty"`
	// KeepsOldKey reports whether the running server still uses the key before; ConfigReport.RestartNeeded is then true.
	KeepsOldKey bool `json:"keepsOldKey,omitempty"`
	// Problem explains why the published pair was not loaded, "" when all is well.
	Problem string `json:"problem,omitempty"`
	// Channels holds one entry for each of ChannelReplication, ChannelStateTransfer, ChannelClients.
	Channels map[string]ChannelFact `json:"channels,omitempty"`
	// Peers holds what this member saw when it dialled port 4567 of every other member.
	Peers map[string]ChannelFact `json:"peers,omitempty"`
}

// Names of the channels in TLSReport.Channels.
const (
	ChannelReplication   = "replication"
	ChannelStateTransfer = "stateTransfer"
	ChannelClients       = "clients"
)

// Channels are all that a report names.
var Channels = []string{ChannelReplication, ChannelStateTransfer, ChannelClients}

// ChannelFact is the result of one check of one channel.
type ChannelFact struct {
	// Observed is TLS, Plaintext, Mixed (both accepted) or Unknown.
	Observed string `json:"observed"`
	Protocol string `json:"protocol,omitempty"` // TLSv1.2 | TLSv1.3
	Cipher   string `json:"cipher,omitempty"`
	// Serial (lower-case hexadecimal) and NotAfter of the certificate that was presented.
	Serial   string     `json:"serial,omitempty"`
	NotAfter *time.Time `json:"notAfter,omitempty"`
	// Verified reports whether the presented chain leads to the trusted CA.
	Verified bool `json:"verified"`
	// PlaintextRefused reports whether a connection without TLS was tried, and refused, and no session is left that may
	// have been opened without before.
	PlaintextRefused bool `json:"plaintextRefused"`
	// PlaintextSessions is how many such sessions are left, 0 also while that is not known.
	PlaintextSessions int `json:"plaintextSessions,omitempty"`
	// Problem is what went wrong, in words, "" when all is well.
	Problem string `json:"problem,omitempty"`
	// CheckedAt is by the agent's clock. Received puts it on the receiver's.
	CheckedAt time.Time `json:"checkedAt"`
	// AgeSeconds is how long ago that was when the report was sent; nil when CheckedAt is zero.
	AgeSeconds *float64 `json:"ageSeconds,omitempty"`
}

// Values of ChannelFact.Observed.
const (
	ObservedTLS       = "TLS"
	ObservedPlaintext = "Plaintext"
	ObservedMixed     = "Mixed"
	ObservedUnknown   = "Unknown"
)
