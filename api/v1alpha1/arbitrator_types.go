package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ArbitratorSpec configures the arbitrator.
type ArbitratorSpec struct {
	// enabled runs an arbitrator alongside the database nodes: Galera's garbd, which has a vote and no data. It needs
	// replicas 2, 4 or 6: two nodes and an arbitrator survive the loss of either node. Encryption and certificates
	// are those of the nodes. The image must contain garbd (Debian package galera-arbitrator-4).
	// Default: false.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`
	// resources of the arbitrator's container. Default: requests of 50m cpu and 32Mi memory.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// scheduling selects the arbitrator's host, best in a zone of its own. Default: a host without a database node
	// of the cluster is preferred.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`
}

// ArbitratorStatus is the observed state of the arbitrator.
type ArbitratorStatus struct {
	// ready reports whether the arbitrator is connected, and runs with the published configuration and certificate.
	Ready bool `json:"ready"`
	// connected reports whether a database node has the arbitrator in its view of the Primary component.
	Connected bool `json:"connected"`
	// phase of its agent: Waiting, Starting, Running, Stopping or Failed; Unknown while the agent does not answer.
	// +optional
	// +kubebuilder:validation:Enum=Examining;Waiting;Initialising;Starting;Running;Stopping;Stopped;Failed;Unknown
	Phase string `json:"phase,omitempty"`
	// pod of the arbitrator.
	// +optional
	Pod string `json:"pod,omitempty"`
	// process is the name of the running garbd in the group; each process has a name of its own.
	// +optional
	Process string `json:"process,omitempty"`
	// version of garbd's Galera library.
	// +optional
	Version string `json:"version,omitempty"`
	// message describes what is wrong or what the arbitrator waits for. Empty when all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// agent is the program in the pod that runs garbd. An upgrade of the operator replaces it in place; garbd continues.
	// +optional
	Agent *AgentStatus `json:"agent,omitempty"`
	// tls is the observed encryption of its replication port.
	// +optional
	TLS *ChannelStatus `json:"tls,omitempty"`
}

// Reasons of conditions that are about the arbitrator.
const (
	// ReasonArbitratorUnusable: the image has no garbd, or garbd cannot be run.
	ReasonArbitratorUnusable = "ArbitratorUnusable"
	// ReasonArbitratorAway: the arbitrator is not in the Primary component.
	ReasonArbitratorAway = "ArbitratorAway"
)

// AnnotationArbitratorRevision is a hash of the arbitrator's pod template, without the image the agent is taken from. A
// new template is applied when no node is being restarted.
const AnnotationArbitratorRevision = "galera-operator.io/arbitrator-revision"
