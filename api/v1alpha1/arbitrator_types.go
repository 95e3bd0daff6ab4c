package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ArbitratorSpec asks for an arbitrator.
type ArbitratorSpec struct {
	// enabled runs an arbitrator beside the database nodes: Galera's garbd, which holds no data and has a vote. With
	// it replicas is 2, 4 or 6; two nodes and an arbitrator survive the loss of either node. It is encrypted
	// and given new certificates like the nodes. The image needs garbd (in Debian the package
	// galera-arbitrator-4). Default: false.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`
	// resources of the arbitrator's container. Default: requests of 10m cpu and 32Mi memory.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// scheduling says where the arbitrator may run: best in a zone of its own. By default it prefers a host without
	// a database node of the cluster.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`
}

// ArbitratorStatus is the arbitrator as observed.
type ArbitratorStatus struct {
	// ready says that it is connected and runs with what was published.
	Ready bool `json:"ready"`
	// connected says that a database node counts it as a member of the Primary component.
	Connected bool `json:"connected"`
	// phase is what its agent is doing: Waiting, Starting, Running, Stopping, Failed; Unknown while it
	// does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Examining;Waiting;Initialising;Starting;Running;Stopping;Stopped;Failed;Unknown
	Phase string `json:"phase,omitempty"`
	// pod it runs in.
	// +optional
	Pod string `json:"pod,omitempty"`
	// process is the name of the running garbd in the group; each has another one.
	// +optional
	Process string `json:"process,omitempty"`
	// version of garbd's Galera library.
	// +optional
	Version string `json:"version,omitempty"`
	// message says what is wrong, or what it waits for, and is empty when all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// tls is the observed encryption of its replication port.
	// +optional
	TLS *ChannelStatus `json:"tls,omitempty"`
}

// Reasons of conditions that are about the arbitrator.
const (
	// ReasonArbitratorUnusable: the image has no garbd, or garbd cannot be run.
	ReasonArbitratorUnusable = "ArbitratorUnusable"
	// ReasonArbitratorAway: the arbitrator is not counted.
	ReasonArbitratorAway = "ArbitratorAway"
)

// AnnotationArbitratorRevision is a hash of the arbitrator's pod template: a new one is applied in its turn.
const AnnotationArbitratorRevision = "galera-operator.io/arbitrator-revision"
