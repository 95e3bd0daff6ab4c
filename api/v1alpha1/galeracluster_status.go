package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraClusterStatus is the observed state of a cluster.
type GaleraClusterStatus struct {
	// observedGeneration is the generation of the spec the operator acts on; -1 before it has seen the cluster. It does
	// not change while the cluster is paused (annotation galera-operator.io/pause).
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Available, Reconciling, Stalled, Paused, Encrypted, CertificatesValid, QuorumHealthy, UpToDate.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// appliedGeneration is the last generation of the spec that every node was seen to run with. While it equals
	// metadata.generation, only the operator itself needs a restart, which waits for spec.maintenance.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// requiredActions are what the cluster needs a person for, the most urgent first. The condition Stalled is True
	// while there is one other than the removal of a replaced CA (OldCATrusted). Empty when no manual action is
	// required.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	RequiredActions []RequiredAction `json:"requiredActions,omitempty"`

	// clusterUUID is the state UUID of this cluster's history, set once at its first start. A node with
	// another history, or with none, never bootstraps this cluster.
	// +optional
	ClusterUUID string `json:"clusterUUID,omitempty"`

	// identity is the UID of the resource that the cluster was created with. It is part of the name of its group, and
	// stays when the resource is deleted and created again while its pods run. Agents believe nothing that a cluster of
	// another identity says.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Identity string `json:"identity,omitempty"`

	// line is the line of history that the Primary component is in: the id of the operation that bootstrapped it.
	// Positions of two lines cannot be compared beyond the place where they part. Backups name the line that they are of.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Line string `json:"line,omitempty"`

	// restore is the progress of spec.bootstrapFrom. Absent without it.
	// +optional
	Restore *RestoreStatus `json:"restore,omitempty"`

	// reseed is how far the cluster is whose source is copied again, by the annotation galera-operator.io/reseed. Absent
	// when that was never asked for.
	// +optional
	Reseed *ReseedStatus `json:"reseed,omitempty"`

	// backup is the state of the archive of the binary log. Absent without spec.backup.pointInTime.
	// +optional
	Backup *ArchiveStatus `json:"backup,omitempty"`

	// endedArchive is what points in time need of archives that were turned off. Absent a day after their windows have
	// passed.
	// +optional
	EndedArchive *EndedArchive `json:"endedArchive,omitempty"`

	// superseded is another cluster that has taken over, until spec.overrulesPromotion. Absent while none is known.
	// +optional
	Superseded *SupersededStatus `json:"superseded,omitempty"`

	// switchSite is how far spec.switchSite is. Absent before the first one.
	// +optional
	SwitchSite *SwitchSiteStatus `json:"switchSite,omitempty"`

	// writeLease is how far spec.backup.pointInTime.writeLease is in force: Starting while not all nodes have it; Held;
	// Ended while nodes refuse writes because the lease is not renewed; Ending while it is turned off, and renewed for
	// nodes that may need it still. Absent without it.
	// +optional
	// +kubebuilder:validation:Enum=Starting;Held;Ended;Ending
	WriteLease string `json:"writeLease,omitempty"`

	// primary is the node behind the Service NAME-primary.
	// +optional
	Primary string `json:"primary,omitempty"`

	// noPrimarySince is when the operator first saw no Primary component. Absent while it sees one. Some steps of a
	// recovery wait until there has been no Primary component for some time.
	// +optional
	NoPrimarySince *metav1.Time `json:"noPrimarySince,omitempty"`

	// replicas is the number of nodes in the cluster now. It follows spec.replicas one node at a time. A node
	// that is being removed counts until it was seen to stop gracefully.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// volumeSize is the smallest size requested for a node's volume: every volume has this size, or is being expanded
	// to it. spec.storage.size can be set back to this size. Absent while the volume of a node does not exist.
	// +optional
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`

	// selector selects the database pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`

	// readyReplicas is the number of Synced nodes.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// members holds one entry for every node, in ordinal order.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Members []MemberStatus `json:"members,omitempty"`

	// arbitrator is the observed state of the arbitrator. Absent without one.
	// +optional
	Arbitrator *ArbitratorStatus `json:"arbitrator,omitempty"`

	// epoch is the number of the last operation. Nodes refuse orders of an earlier operation.
	// +optional
	Epoch int64 `json:"epoch,omitempty"`

	// operation in progress. It is written before its first order, and removed when it has ended.
	// +optional
	Operation *OperationStatus `json:"operation,omitempty"`

	// lastOperation is the last operation that has ended.
	// +optional
	LastOperation *CompletedOperation `json:"lastOperation,omitempty"`

	// abandoned is the last operation that was given up because of one node. It is removed when its goal is reached, by
	// another operation of its type or by a recovery.
	// +optional
	Abandoned *AbandonedOperation `json:"abandoned,omitempty"`

	// requests were made by the annotations galera-operator.io/primary and galera-operator.io/restart, and by kubectl
	// rollout restart of the StatefulSet: the last of each kind.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +kubebuilder:validation:MaxItems=3
	Requests []RequestStatus `json:"requests,omitempty"`

	// enabledEvents are the scheduled events, as DATABASE.EVENT, that were enabled when a node last knew. A node that
	// disables an event because another node runs it does not know whether it is enabled, and the node that ran it may be
	// lost. At most 256 are kept.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=129
	EnabledEvents []string `json:"enabledEvents,omitempty"`

	// tls is the encryption in force.
	// +optional
	TLS *ClusterTLSStatus `json:"tls,omitempty"`

	// atRest is the encryption of what lies on disks. Absent without spec.encryption.
	// +optional
	AtRest *AtRestStatus `json:"atRest,omitempty"`

	// replication is how far the cluster is that follows another server, or an archive. Absent without
	// spec.bootstrapFrom.external.follow and spec.replicaOf.
	// +optional
	Replication *ReplicationStatus `json:"replication,omitempty"`
}

// MemberStatus is the observed state of one node.
type MemberStatus struct {
	// name of the node's pod.
	Name string `json:"name"`
	// phase of the node's agent: Examining, Waiting, Initialising, Starting, Running, Stopping, Stopped or
	// Failed; Unknown while the agent does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Examining;Waiting;Initialising;Starting;Running;Stopping;Stopped;Failed;Unknown
	Phase string `json:"phase,omitempty"`
	// nodeState is Galera's state of the node: Joining, Donor, Joined or Synced. Empty while the server does not
	// answer.
	// +optional
	// +kubebuilder:validation:Enum=Joining;Donor;Joined;Synced
	NodeState string `json:"nodeState,omitempty"`
	// componentState is Galera's state of the node's component: Primary, non-Primary or Disconnected. Empty while
	// the server does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Primary;non-Primary;Disconnected
	ComponentState string `json:"componentState,omitempty"`
	// lagging is true while the node applies write-sets too slowly, and has the others wait for it (flow control).
	// Proxies read from other nodes meanwhile.
	// +optional
	Lagging bool `json:"lagging,omitempty"`
	// position of the node in the history, UUID:seqno, when the node last changed its state; "unknown" if it
	// cannot be determined.
	// +optional
	Position string `json:"position,omitempty"`
	// version of the server, for instance 11.8.6-MariaDB.
	// +optional
	Version string `json:"version,omitempty"`
	// message describes what is wrong. Empty when all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// agent is the program in the pod that runs the server. An upgrade of the operator replaces it in place; the server
	// continues.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// join is the node's last or current join.
	// +optional
	Join *JoinStatus `json:"join,omitempty"`
	// cache is the node's gcache: the write-sets it can send as a donor of IST.
	// +optional
	Cache *CacheStatus `json:"cache,omitempty"`
	// replication is how far the other nodes are, and the send windows that the node runs with. Absent until they are
	// known.
	// +optional
	Replication *MemberReplicationStatus `json:"replication,omitempty"`
	// tls is the observed encryption, per channel.
	// +optional
	TLS *MemberTLSStatus `json:"tls,omitempty"`
}

// AgentStatus is a node's agent.
type AgentStatus struct {
	// version of the agent: that of the operator whose image it comes from.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// message explains why the last replacement of the agent failed, or what it waits for. Empty when it succeeded, or
	// none is needed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Paused reports whether the annotation AnnotationPause keeps the operator from acting on the cluster.
func (c *GaleraCluster) Paused() bool { return c.Annotations[AnnotationPause] == "true" }

// GaleraClusterList is a list of GaleraCluster.
//
// +kubebuilder:object:root=true
type GaleraClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraCluster `json:"items"`
}
