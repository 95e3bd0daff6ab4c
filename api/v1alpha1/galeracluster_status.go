package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraClusterStatus is what the operator has observed.
type GaleraClusterStatus struct {
	// observedGeneration is the generation of the spec the operator acts upon; -1 before it has seen the cluster. While
	// the cluster is paused (annotation galera-operator.io/pause) it stays as it was.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Available, Reconciling, Stalled, Paused, Encrypted, CertificatesValid, QuorumHealthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// clusterUUID is the state UUID of this cluster's history, set once at its first start. A node
	// with another history, or with none, is never made the start of this cluster.
	// +optional
	ClusterUUID string `json:"clusterUUID,omitempty"`

	// primary is the node the Service NAME-primary leads to.
	// +optional
	Primary string `json:"primary,omitempty"`

	// noPrimarySince is when the operator first saw no Primary component; absent while it sees one. Some steps of a
	// recovery wait until a Primary component has been away for long enough.
	// +optional
	NoPrimarySince *metav1.Time `json:"noPrimarySince,omitempty"`

	// replicas is the number of nodes the cluster consists of now. It follows spec.replicas one node at
	// a time; a node that is to go counts until it was seen to have left in good order.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// volumeSize is the size that every node's volume has, or is growing to: the smallest that Kubernetes was
	// asked for. spec.storage.size can be set back as far as this. Absent while a node's volume is not there.
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

	// arbitrator is the member without data; absent when there is none.
	// +optional
	Arbitrator *ArbitratorStatus `json:"arbitrator,omitempty"`

	// epoch is the number of the last operation. Nodes refuse orders of an earlier one.
	// +optional
	Epoch int64 `json:"epoch,omitempty"`

	// operation is the one running now: written before its first act, removed when it is done.
	// +optional
	Operation *OperationStatus `json:"operation,omitempty"`

	// lastOperation is the one that ended last.
	// +optional
	LastOperation *CompletedOperation `json:"lastOperation,omitempty"`

	// tls is the encryption in force.
	// +optional
	TLS *ClusterTLSStatus `json:"tls,omitempty"`
}

// MemberStatus is one node as observed.
type MemberStatus struct {
	// name of the node's pod.
	Name string `json:"name"`
	// phase is what the node's agent is doing: Examining, Waiting, Initialising, Starting, Running,
	// Stopping, Stopped, Failed; Unknown while the agent does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Examining;Waiting;Initialising;Starting;Running;Stopping;Stopped;Failed;Unknown
	Phase string `json:"phase,omitempty"`
	// nodeState is Joining, Donor, Joined or Synced; empty while the server does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Joining;Donor;Joined;Synced
	NodeState string `json:"nodeState,omitempty"`
	// componentState is Primary, non-Primary or Disconnected; empty while the server does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Primary;non-Primary;Disconnected
	ComponentState string `json:"componentState,omitempty"`
	// position is the node's place in the cluster's history, uuid:seqno, as it was when the node
	// last changed its state; "unknown" when it cannot be told.
	// +optional
	Position string `json:"position,omitempty"`
	// version of the server, for instance 11.8.6-MariaDB.
	// +optional
	Version string `json:"version,omitempty"`
	// message says what is wrong, and is empty when all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// join is how the node came into the cluster last.
	// +optional
	Join *JoinStatus `json:"join,omitempty"`
	// cache is the node's store of past write-sets, from which others can catch up.
	// +optional
	Cache *CacheStatus `json:"cache,omitempty"`
	// tls holds what was observed, per channel.
	// +optional
	TLS *MemberTLSStatus `json:"tls,omitempty"`
}

// MemberTLSStatus is the observed encryption of one node, per channel.
type MemberTLSStatus struct {
	// replication is group communication and incremental state transfer (4567, 4568).
	// +optional
	Replication *ChannelStatus `json:"replication,omitempty"`
	// stateTransfer is full state transfer (4444). It has no lasting listener: what is reported is
	// what the transfer scripts are made to enforce.
	// +optional
	StateTransfer *ChannelStatus `json:"stateTransfer,omitempty"`
	// clients is the database port (3306).
	// +optional
	Clients *ChannelStatus `json:"clients,omitempty"`
}

// ChannelStatus is the observed encryption of one channel of one node.
type ChannelStatus struct {
	// observed is TLS, Plaintext, Mixed (both are accepted) or Unknown.
	// +kubebuilder:validation:Enum=TLS;Plaintext;Mixed;Unknown
	Observed string `json:"observed"`
	// protocol that was negotiated, for instance TLSv1.3.
	// +optional
	Protocol string `json:"protocol,omitempty"`
	// cipher that was negotiated, for instance TLS_AES_256_GCM_SHA384.
	// +optional
	Cipher string `json:"cipher,omitempty"`
	// serial of the certificate that was presented, in hexadecimal.
	// +optional
	Serial string `json:"serial,omitempty"`
	// notAfter is the end of that certificate.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// plaintextRefused says that an attempt without TLS was made and turned away.
	// +optional
	PlaintextRefused bool `json:"plaintextRefused,omitempty"`
	// message says what is wrong, and is empty when all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// checkedAt is when the state was first observed to be so; evidence is renewed every minute
	// and this entry goes to Unknown when it is not.
	// +optional
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`
}

// ClusterTLSStatus is the encryption in force.
type ClusterTLSStatus struct {
	// replication is what nodes run with: Plain, Dynamic (a step of a switch) or Strict.
	// +optional
	// +kubebuilder:validation:Enum=Plain;Dynamic;Strict
	Replication string `json:"replication,omitempty"`
	// serial of the certificate published to the nodes, in hexadecimal.
	// +optional
	Serial string `json:"serial,omitempty"`
	// key is the kind and size of that certificate's key, such as ECDSA-256.
	// +optional
	Key string `json:"key,omitempty"`
	// notAfter is the end of that certificate.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// switch is the change of replication's encryption that is going on.
	// +optional
	Switch *SwitchStatus `json:"switch,omitempty"`
	// lastSwitch is the one that was completed last.
	// +optional
	LastSwitch *SwitchStatus `json:"lastSwitch,omitempty"`
	// step of a replacement of the CA: Settled when there is none; DistributingTrust while all nodes are made to trust the new CA;
	// RotatingCertificates while all are made to present its certificate; AwaitingApproval when spec.tls.dropOldCA is Manual and
	// the old CA waits to be dropped; RemovingOldCA while nodes are restarted, because only that makes them forget a CA.
	// +optional
	// +kubebuilder:validation:Enum=Settled;DistributingTrust;RotatingCertificates;AwaitingApproval;RemovingOldCA
	Step string `json:"step,omitempty"`
	// trustedCAs are all CAs some node trusts.
	// +optional
	// +listType=map
	// +listMapKey=fingerprint
	// +kubebuilder:validation:MaxItems=32
	TrustedCAs []TrustedCA `json:"trustedCAs,omitempty"`
	// renewals that were asked for by the annotation galera-operator.io/renew, the last of each kind.
	// +optional
	// +listType=map
	// +listMapKey=of
	// +kubebuilder:validation:MaxItems=4
	Renewals []RenewalStatus `json:"renewals,omitempty"`
}

// TrustedCA is a CA certificate some node trusts.
type TrustedCA struct {
	// fingerprint is the SHA-256 of the certificate, in hexadecimal.
	Fingerprint string `json:"fingerprint"`
	// subject of the certificate, for instance CN=shop Galera CA.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Subject string `json:"subject,omitempty"`
	// notAfter is its end.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// state is Current for a CA of the issued certificate, Old for one that is trusted beside it, and
	// Dropped for one that is published no more and trusted by running nodes until they are restarted.
	// +kubebuilder:validation:Enum=Current;Old;Dropped
	State string `json:"state"`
}

// Values of TrustedCA.State.
const (
	CACurrent = "Current"
	CAOld     = "Old"
	CADropped = "Dropped"
)

// RenewalStatus is a renewal that was asked for.
type RenewalStatus struct {
	// of is what is renewed: leaf, ca, or leaf-of-ca (a leaf that became necessary because the CA has changed).
	// +kubebuilder:validation:Enum=leaf;ca;leaf-of-ca
	Of string `json:"of"`
	// token of the request.
	// +kubebuilder:validation:MaxLength=128
	Token string `json:"token"`
	// previous is the fingerprint of the certificate that is to be replaced.
	// +optional
	Previous string `json:"previous,omitempty"`
	// requestedAt is when the request was recorded.
	RequestedAt metav1.Time `json:"requestedAt"`
	// completedAt is when another certificate was there.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// SwitchStatus is a change of replication's encryption on a running cluster.
type SwitchStatus struct {
	// from is what the nodes ran with: Plain or Strict, and the cipher suites where they are restricted.
	From string `json:"from"`
	// to is what they are to run with.
	To string `json:"to"`
	// strategy is Rolling or Rebootstrap.
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	Strategy string `json:"strategy"`
	// startedAt is when the switch was begun.
	StartedAt metav1.Time `json:"startedAt"`
	// completedAt is when all nodes ran with the new encryption and were Synced.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// outage is how long no node at all served, as their agents saw it, to the millisecond, for instance 2.4s; 0s when there
	// always was one.
	// +optional
	Outage *metav1.Duration `json:"outage,omitempty"`
	// joinsByIST is the number of nodes whose last return took only what they had missed.
	// +optional
	JoinsByIST int32 `json:"joinsByIST,omitempty"`
	// joinsBySST is the number of nodes whose last return took a full copy.
	// +optional
	JoinsBySST int32 `json:"joinsBySST,omitempty"`
}

// OperationStatus is an operation in progress.
type OperationStatus struct {
	// id is unique for every operation.
	ID string `json:"id"`
	// type of the operation: FirstStart, Recover, RebuildQuorum, Restart, ScaleDown, Hibernate, SwitchTLS.
	// +kubebuilder:validation:Enum=FirstStart;Recover;RebuildQuorum;Restart;ScaleDown;Hibernate;SwitchTLS
	Type string `json:"type"`
	// target is what the operation leads to, for instance a configuration revision.
	// +optional
	Target string `json:"target,omitempty"`
	// step that is being done.
	// +optional
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	Step string `json:"step,omitempty"`
	// epoch of the operation. Nodes refuse orders of an earlier one.
	Epoch int64 `json:"epoch"`
	// bootstrapMember is the node chosen as the start of the component.
	// +optional
	BootstrapMember string `json:"bootstrapMember,omitempty"`
	// position the node was chosen for, uuid:seqno.
	// +optional
	Position string `json:"position,omitempty"`
	// startedAt is when the operation was begun.
	StartedAt metav1.Time `json:"startedAt"`
}

// CompletedOperation is an operation that has ended.
type CompletedOperation struct {
	// type of the operation.
	// +kubebuilder:validation:Enum=FirstStart;Recover;RebuildQuorum;Restart;ScaleDown;Hibernate;SwitchTLS
	Type string `json:"type"`
	// epoch of the operation.
	Epoch int64 `json:"epoch"`
	// startedAt is when it was begun.
	StartedAt metav1.Time `json:"startedAt"`
	// completedAt is when it was observed to be done.
	CompletedAt metav1.Time `json:"completedAt"`
	// message says how it ended.
	// +optional
	Message string `json:"message,omitempty"`
}
