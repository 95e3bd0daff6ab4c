package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplicationSpec configures the group communication between the nodes.
type ReplicationSpec struct {
	// sendWindows fixes how many messages of a node may be in flight at once. Default: each node measures the round
	// trip to the node farthest away and chooses by it: 1 and 2 below 0.3 ms, Galera's 2 and 4 below 10 ms, beyond that
	// one message for each 1.25 ms of the round trip. A change takes effect without a restart.
	// +optional
	SendWindows *SendWindows `json:"sendWindows,omitempty"`
}

// SendWindows bound how many messages of a node are in flight at once.
// +kubebuilder:validation:XValidation:rule="self.userSendWindow <= self.sendWindow",message="sendWindow must not be smaller than userSendWindow: Galera refuses that; twice as large is usual"
type SendWindows struct {
	// userSendWindow is evs.user_send_window: how many messages with write-sets a node sends before the others have
	// acknowledged the first. 1 lets small write-sets share a message, which is cheapest on one host; more keep a long
	// link busy. 1 to 512.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=512
	UserSendWindow int32 `json:"userSendWindow"`
	// sendWindow is evs.send_window: the same for all messages, those that repair a loss included. 1 to 1024.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	SendWindow int32 `json:"sendWindow"`
}

// MemberReplicationStatus is how far the other nodes are from a node, and the send windows it runs with.
type MemberReplicationStatus struct {
	// roundTrip is the smallest TCP round trip to the node that is farthest away, to about a quarter. Absent while not
	// known.
	// +optional
	RoundTrip *metav1.Duration `json:"roundTrip,omitempty"`
	// sendWindows are the windows in force.
	SendWindows SendWindows `json:"sendWindows"`
}
