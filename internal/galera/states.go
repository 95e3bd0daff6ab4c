package galera

// DataState describes what a member's data directory holds.
type DataState string

const (
	// DataUnknown means that the directory was not examined yet, or the examination failed.
	DataUnknown DataState = ""
	// DataEmpty means that the directory holds no database at all.
	DataEmpty DataState = "Empty"
	// DataPresent means that the directory holds a complete database.
	DataPresent DataState = "Present"
	// DataIncomplete means that a state transfer or an initialisation was interrupted:
	// the files never count as data.
	DataIncomplete DataState = "Incomplete"
)

// Phase describes what a member's agent is doing.
type Phase string

const (
	// PhaseExamining means that the agent reads configuration, data directory and position.
	PhaseExamining Phase = "Examining"
	// PhaseWaiting means that mariadbd is not running and that the agent waits for a
	// Primary peer to join or for an order.
	PhaseWaiting Phase = "Waiting"
	// PhaseInitialising means that an empty data directory is being filled by order.
	PhaseInitialising Phase = "Initialising"
	// PhaseStarting means that mariadbd has been started and does not serve yet.
	PhaseStarting Phase = "Starting"
	// PhaseRunning means that mariadbd runs and answers on its socket.
	PhaseRunning Phase = "Running"
	// PhaseStopping means that mariadbd was asked to stop and is still running.
	PhaseStopping Phase = "Stopping"
	// PhaseStopped means that mariadbd was stopped by order and stays down until the next order.
	PhaseStopped Phase = "Stopped"
	// PhaseFailed means that mariadbd cannot be started; the report's failure explains why.
	PhaseFailed Phase = "Failed"
)

// ComponentState is wsrep_cluster_status as observed on a node.
type ComponentState string

const (
	// ComponentUnknown means that the node could not be asked.
	ComponentUnknown ComponentState = ""
	// ComponentPrimary means that the node belongs to a component with quorum.
	ComponentPrimary ComponentState = "Primary"
	// ComponentNonPrimary means that the node has lost quorum and refuses writes.
	ComponentNonPrimary ComponentState = "non-Primary"
	// ComponentDisconnected means that the node is in no group at all.
	ComponentDisconnected ComponentState = "Disconnected"
)

// NodeState is wsrep_local_state_comment as observed on a node, in one word.
type NodeState string

const (
	// NodeUnknown means that the node could not be asked.
	NodeUnknown NodeState = ""
	// NodeJoining covers Galera's Joining, "Joining: receiving State Transfer" and Initialized.
	NodeJoining NodeState = "Joining"
	// NodeDonor means that the node gives its state to another (Donor/Desynced).
	NodeDonor NodeState = "Donor"
	// NodeJoined means that the node has the state and applies what it missed.
	NodeJoined NodeState = "Joined"
	// NodeSynced means that the node is up to date and serves.
	NodeSynced NodeState = "Synced"
)

// SocketMode is how a node's group communication treats encryption.
type SocketMode string

const (
	// SocketPlain means no TLS: keys, certificates and socket.ssl are absent.
	SocketPlain SocketMode = "Plain"
	// SocketDynamic means TLS where the peer can, plaintext where it cannot: a
	// passing state of a switch, never counted as encrypted.
	SocketDynamic SocketMode = "Dynamic"
	// SocketStrict means TLS only.
	SocketStrict SocketMode = "Strict"
)

// ChannelPolicy is the wanted encryption of one channel.
type ChannelPolicy string

const (
	// PolicyRequired means that plaintext is refused.
	PolicyRequired ChannelPolicy = "Required"
	// PolicyPreferred means that TLS is offered and plaintext accepted (clients only).
	PolicyPreferred ChannelPolicy = "Preferred"
	// PolicyDisabled means that no TLS is offered.
	PolicyDisabled ChannelPolicy = "Disabled"
)
