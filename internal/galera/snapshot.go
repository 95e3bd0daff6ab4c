package galera

import "time"

// Snapshot is one cluster at one moment: what is wanted, what was recorded, what was observed.
// The planner decides from it and from nothing else.
type Snapshot struct {
	// Namespace and Name of the resource, for messages to a user.
	Namespace, Name string
	// Replicas is the wanted number of members. Which nodes are members is in Members.
	Replicas int
	// Hibernate asks for an ordered stop of all nodes.
	Hibernate bool
	// ConfigRevision is the revision of the published NodeConfig.
	ConfigRevision string
	// Publication identifies the certificate and the CAs published to the nodes.
	Publication string
	// Wanted is the encryption of replication in the spec, Published the one published to the
	// nodes.
	Wanted, Published Encryption
	// RestartsWait explains why nodes are not restarted now that are outdated for the operator's own sake, "" when they
	// may be.
	RestartsWait string
	// Rebootstrap asks for a switch of the encryption by stopping the nodes, instead of a rolling one.
	Rebootstrap bool
	// Promote is the node that is to be the primary at a user's request, "" without one. It is fulfilled once.
	Promote string
	// Approval is the permission to recover without certain members, nil without one.
	Approval *Approval

	// ClusterUUID is the recorded state UUID, "" before the first start.
	ClusterUUID string
	// Line is the recorded line of history of the Primary component, by its ID: see galera.Line.
	Line string
	// Epoch is the number of the last operation.
	Epoch int64
	// Operation is the journalled operation in progress.
	Operation *Operation
	// Abandoned is the last operation that was abandoned because of one member, nil when its goal has been
	// reached since.
	Abandoned *Abandoned
	// Primary is the recorded primary: the node behind NAME-primary.
	Primary string
	// Hibernated reports whether the ordered stop is complete.
	Hibernated bool

	// Members has one entry for every recorded member, in ordinal order. A member stays one until it was seen
	// to leave gracefully, whatever the spec asks for.
	Members []Member
	// Arbitrator is the member without data, nil when there is none and none is wanted.
	Arbitrator *Arbitrator
	// NoPrimarySince is when no Primary component was seen first, zero while there is one. See SeeLoss.
	NoPrimarySince time.Time
	// NoPrimaryFor is how long no Primary component has been seen, 0 while there is one.
	NoPrimaryFor time.Duration
}

// Approval permits to recover without some members. It names the member to bootstrap and its position, the epoch of the
// operation (it is void for any other), and the members given up, by their state.
type Approval struct {
	Member   string
	Position Position
	Epoch    int64
	// Without are given up as Gone, Running as StillRunning, Unable as Unable.
	Without, Running, Unable []string
}

// OperationType names an operation of the journal.
type OperationType string

// The operations.
const (
	// OpFirstStart initialises the first node of a new cluster.
	OpFirstStart OperationType = "FirstStart"
	// OpRecover bootstraps the most advanced member after a full stop.
	OpRecover OperationType = "Recover"
	// OpRebuildQuorum makes running nodes that lost quorum Primary again.
	OpRebuildQuorum OperationType = "RebuildQuorum"
	// OpRestart restarts nodes one by one, for a new configuration or pod template.
	OpRestart OperationType = "Restart"
	// OpScaleDown removes the member with the highest ordinal.
	OpScaleDown OperationType = "ScaleDown"
	// OpHibernate stops all nodes, one after another.
	OpHibernate OperationType = "Hibernate"
	// OpSwitchTLS changes the encryption of replication. Step is the strategy, Target the node
	// to restart, or the one that keeps serving.
	OpSwitchTLS OperationType = "SwitchTLS"
)

// Operation is an entry of the journal: written before its first act.
type Operation struct {
	ID              string
	Type            OperationType
	Target          string
	Step            string
	Epoch           int64
	BootstrapMember string
	Position        Position
}

// Abandoned is an operation that was abandoned because of one member: it would be again.
type Abandoned struct {
	Type OperationType
	Step string
	// Goal is what the operation was to reach, for a SwitchTLS the encryption.
	Goal string
	// Member is why the last attempt was abandoned, PodUID that of its pod then.
	Member, PodUID string
	// Attempts were abandoned in a row.
	Attempts int
	Message  string
}

// Member is one node: its pod, and what its agent reports. Nothing is guessed: while Known
// is false everything below it is empty.
type Member struct {
	Name    string
	Ordinal int
	Pod     Pod
	// HeldData is recorded: the member was seen, once, with data of this cluster.
	HeldData bool

	// SilentFor is how long this process of the operator has waited for an answer of the agent, 0 while it answers.
	SilentFor time.Duration
	// Unplaced reports whether the member never ran: its pod has never had a host, nor its claim a volume.
	Unplaced bool

	// Known reports whether the agent answered, so that the rest are facts.
	Known    bool
	Phase    Phase
	Data     DataState
	Position Position
	// Marked reports whether Galera has marked the data, while a statement that changes tables was in progress, or as it
	// asked for a state transfer. They hold everything up to Position, and may hold a part of what comes next: next to
	// other members they need a full copy.
	Marked bool
	// VotedOut reports whether the group has found the data to differ from the other members': they are never gone on
	// from.
	VotedOut bool
	// Line is the epoch of the last bootstrap in the member's history, 0 when it knows of none.
	Line int64
	// Lines are the IDs of the lines of its history that it remembers, the latest first.
	Lines           []string
	SafeToBootstrap bool
	Draining        bool
	// Leaseless reports whether it refuses writes because it has heard of no renewal of the site's lease, while others
	// may have: not when all nodes begin to, or end.
	Leaseless bool
	// Server is nil while mariadbd does not answer.
	Server *Server
	// Ended is the last run of mariadbd, if it ended in a Primary component without leaving it; nil otherwise,
	// and while one runs.
	Ended *Ended
	// ConfigLoaded is the revision of the configuration the agent has read.
	ConfigLoaded string
	// RestartNeeded reports whether mariadbd runs with other settings than the loaded ones, or needs a restart for another
	// reason that its agent knows.
	RestartNeeded bool
	// Publication is the one the agent has taken over; the next mariadbd starts with it.
	Publication string
	// KeepsOldKey reports whether mariadbd still uses the key of the last certificate: only a restart ends that.
	KeepsOldKey bool
	// StaleTrust reports whether mariadbd trusts a CA that is no longer published: only a restart
	// drops it.
	StaleTrust bool
	// Backup is the id of the backup the member gives now, "" for none.
	Backup string
	// RestartAsked reports whether a user has asked for a restart, and whether mariadbd is the same since.
	RestartAsked bool
	// StuckDonor reports whether the member stays a donor without a joiner: only a restart ends that.
	StuckDonor bool
	// Running is the encryption mariadbd was started with; zero while it is down.
	Running Encryption
	// DynamicSockets reports whether the Galera provider has socket.dynamic, which a rolling switch needs.
	DynamicSockets bool
	// CacheWindow is an estimate of how long another member may be away and still get IST from this one's gcache;
	// 0 when unknown, because nothing was written.
	CacheWindow time.Duration
	// TLSProblem explains why the member could not run with TLS, "" when it could.
	TLSProblem string
	// LinksVerified reports whether the member has seen every other one answer with TLS and a trusted
	// certificate on the replication port.
	LinksVerified bool
	// Order is the last order the agent remembers.
	Order *Order
	// CannotAct explains why the member cannot carry out orders, though its agent answers.
	CannotAct Inability
	// CannotStart explains why mariadbd could not be started from the member's data, "" when it could.
	CannotStart string
	// Failure is why the member cannot run, nil when it can.
	Failure *Failure
	// Upgrading reports whether the member serves with system tables of an earlier version: mariadb-upgrade runs, or
	// failed.
	Upgrading bool
	// LaterData reports whether a server of a later series has used the member's data, so that its own must not.
	LaterData bool
	// OtherCluster reports whether the volume's record names another cluster: its agent starts nothing with the data.
	OtherCluster bool
	// LacksTools reports whether the member's image lacks programs that state transfers need: it can be neither donor nor
	// joiner.
	LacksTools bool
	// ServerVersion is the image's, "" when it is not known.
	ServerVersion string
	// BookDamaged reports whether the agent cannot read its order book: it refuses orders and does not
	// start mariadbd.
	BookDamaged bool
}

// Pod is what Kubernetes knows of a member.
type Pod struct {
	Exists bool
	// UID distinguishes one pod of this name from the next.
	UID         string
	Terminating bool
	// Ready reports whether the database container passes its readiness probe, whatever other containers do.
	Ready bool
	// Unsettled explains why the pod cannot show yet that its template is a good one, "" when it can: another container is
	// not ready, or was started a moment ago, or one of the operator's was restarted a moment ago.
	Unsettled string
	// Role is primary for the pod behind NAME-primary, replica for any other.
	Role string
	// Outdated reports whether the pod was made from an older template.
	Outdated bool
	// Waiting reports whether it found no host, or whether kubelet cannot start the database container, or one that comes
	// before it.
	Waiting bool
	// Creating reports whether kubelet has never started the database container, and nothing is known to keep it from
	// that: it attaches the volume, or pulls the image.
	Creating bool
	// Cordoned reports whether its host takes no new pods: it may be about to be drained.
	Cordoned bool
}

// Server is the state that a running mariadbd reports.
type Server struct {
	Component ComponentState
	State     NodeState
	// ClusterUUID is the state UUID of the component.
	ClusterUUID string
	// ViewID counts the component's views.
	ViewID int64
	// Size is the number of members in the component.
	Size int
	// Members are the names of the component's members, empty when not known.
	Members []string
	// ReceiveQueue is the number of write-sets received and not yet applied.
	ReceiveQueue int64
}

// Ended is a mariadbd whose agent saw it end, though its component may not know yet.
type Ended struct {
	// NodeUUID named it in the group, and never names another one.
	NodeUUID string
	// ViewID is the Primary view it was in.
	ViewID int64
}

// Order is what an agent remembers of the last order it got.
type Order struct {
	ID    string
	Epoch int64
	Kind  string
	State string // Accepted | Done | Refused | Failed
	// Message explains why it was refused or failed.
	Message string
}

// Failure is why a member cannot run.
type Failure struct {
	Reason  string
	Message string
}

// InPrimary reports whether the member's server is part of a Primary component with a real history.
func (m Member) InPrimary() bool {
	return m.Known && m.Server != nil && m.Server.Component == ComponentPrimary && m.Server.ClusterUUID != ZeroUUID
}

// Synced reports whether the member is up to date in a Primary component and stays there. A received SST counts only
// when it is on the disk: a power cut would lose it.
func (m Member) Synced() bool {
	return m.InPrimary() && m.Server.State == NodeSynced && m.Data != DataIncomplete && !m.Draining && !m.Pod.Terminating
}

// Copying reports whether the member is not Synced only because of the backup it gives: at its end mariadb-backup takes
// it out of step for a moment.
func (m Member) Copying() bool {
	return m.Backup != "" && m.InPrimary() && (m.Server.State == NodeDonor || m.Server.State == NodeJoined)
}

// Down reports whether mariadbd is known not to run, and whether it will not start by itself
// without a Primary peer.
func (m Member) Down() bool {
	return m.Known && m.Server == nil &&
		(m.Phase == PhaseWaiting || m.Phase == PhaseStopped || m.Phase == PhaseFailed)
}

// Member returns the member of that name, and whether there is one.
func (s Snapshot) Member(name string) (Member, bool) {
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}
