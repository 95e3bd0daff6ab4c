package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Kinds of requests.
const (
	RequestPromote = "Promote"
	RequestRestart = "Restart"
	RequestRollout = "Rollout"
)

// States of a request.
const (
	RequestPending   = "Pending"
	RequestDone      = "Done"
	RequestExpired   = "Expired"
	RequestCancelled = "Cancelled"
)

// AllNodes in the annotation AnnotationRestart restarts every node.
const AllNodes = "all"

// RequestStatus is the state of a request by annotation. The operator records a request before it acts on it.
type RequestStatus struct {
	// kind is Promote (the primary is moved), Restart (nodes are restarted, one at a time), or Rollout (all nodes are
	// restarted likewise: kubectl rollout restart was run on the StatefulSet).
	// +kubebuilder:validation:Enum=Promote;Restart;Rollout
	Kind string `json:"kind"`
	// node that the request names; "all" for a restart of every node.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// token of the request.
	// +kubebuilder:validation:MaxLength=100
	Token string `json:"token"`
	// state is Pending, Done, Expired (not met in time) or Cancelled (the annotation was removed or replaced first).
	// +kubebuilder:validation:Enum=Pending;Done;Expired;Cancelled
	State string `json:"state"`
	// message describes what the request waits for, or why it was not met.
	// +optional
	Message string `json:"message,omitempty"`
	// pending are the nodes that have not been restarted yet.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Pending []PendingRestart `json:"pending,omitempty"`
	// requestedAt is when the request was recorded.
	RequestedAt metav1.Time `json:"requestedAt"`
	// expiresAt is when the request is given up: 10 minutes after it was recorded for Promote, 24 hours for Restart and
	// Rollout.
	ExpiresAt metav1.Time `json:"expiresAt"`
	// endedAt is when the request was met, expired or was cancelled.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
}

// PendingRestart is a node to be restarted.
type PendingRestart struct {
	// name of the node.
	Name string `json:"name"`
	// startedAt is the start time of the mariadbd to restart; a later one shows that the restart has happened. Absent
	// while unknown.
	// +optional
	StartedAt *metav1.MicroTime `json:"startedAt,omitempty"`
}

// RenewalStatus is a requested renewal.
type RenewalStatus struct {
	// of is leaf (the nodes' certificate), ca, or leaf-of-ca (the nodes' certificate, because the CA was renewed).
	// +kubebuilder:validation:Enum=leaf;ca;leaf-of-ca
	Of string `json:"of"`
	// token of the request.
	// +kubebuilder:validation:MaxLength=128
	Token string `json:"token"`
	// previous is the fingerprint of the certificate to replace.
	// +optional
	Previous string `json:"previous,omitempty"`
	// requestedAt is when the request was recorded.
	RequestedAt metav1.Time `json:"requestedAt"`
	// completedAt is when the new certificate was issued.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}
