package v1alpha1

import networkingv1 "k8s.io/api/networking/v1"

// NetworkPolicySpec restricts who can connect to the nodes.
type NetworkPolicySpec struct {
	// enabled creates a NetworkPolicy. It admits the cluster's nodes to the replication ports, the operator to the agent's
	// port, and clientsFrom to 3306. With false the policy is removed. Default: true.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// clientsFrom lists the pods and networks that may connect to 3306. Default: all pods and hosts.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ClientsFrom []networkingv1.NetworkPolicyPeer `json:"clientsFrom,omitempty"`
	// restrictEgress limits what the nodes and the arbitrator can connect to: DNS (ports 53 and 5353), each other, and
	// egressTo. Jobs of backups and restores, and the archiver, are limited only if jobsEgressTo names something, because
	// an object store has no fixed address. Default: false.
	// +optional
	RestrictEgress bool `json:"restrictEgress,omitempty"`
	// egressTo lists pods and networks that nodes can connect to in addition, with restrictEgress: for instance what a
	// sidecar sends its records to. Default: none.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	EgressTo []networkingv1.NetworkPolicyPeer `json:"egressTo,omitempty"`
	// jobsEgressTo lists pods and networks that Jobs of backups and restores, and the archiver, can connect to, with
	// restrictEgress: all addresses of the object stores, of the services that issue their credentials, and of a server
	// that is copied. DNS and the cluster's nodes are always allowed. Default: these pods are not limited.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	JobsEgressTo []networkingv1.NetworkPolicyPeer `json:"jobsEgressTo,omitempty"`
}
