package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OperationStatus is an operation in progress.
type OperationStatus struct {
	// id of the operation, unique in the cluster.
	ID string `json:"id"`
	// type of the operation: FirstStart, Recover, RebuildQuorum, Restart, ScaleDown, Hibernate, SwitchTLS.
	// +kubebuilder:validation:Enum=FirstStart;Recover;RebuildQuorum;Restart;ScaleDown;Hibernate;SwitchTLS
	Type string `json:"type"`
	// target of the operation, for instance the node that is restarted.
	// +optional
	Target string `json:"target,omitempty"`
	// step of the operation: the strategy of a SwitchTLS.
	// +optional
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	Step string `json:"step,omitempty"`
	// epoch is the number of the operation. Nodes refuse orders of an earlier operation.
	Epoch int64 `json:"epoch"`
	// bootstrapMember is the node chosen to bootstrap the component.
	// +optional
	BootstrapMember string `json:"bootstrapMember,omitempty"`
	// position of that node when it was chosen, UUID:seqno.
	// +optional
	Position string `json:"position,omitempty"`
	// startedAt is when the operation began.
	StartedAt metav1.Time `json:"startedAt"`
}

// AbandonedOperation is an operation that was given up because of one node.
type AbandonedOperation struct {
	// type of the operation.
	// +kubebuilder:validation:Enum=FirstStart;Recover;RebuildQuorum;Restart;ScaleDown;Hibernate;SwitchTLS
	Type string `json:"type"`
	// step of the operation: the strategy of a SwitchTLS.
	// +optional
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	Step string `json:"step,omitempty"`
	// goal is what it was to reach: the encryption of a SwitchTLS.
	// +optional
	Goal string `json:"goal,omitempty"`
	// node because of which the last attempt was abandoned.
	Node string `json:"node"`
	// podUID is the UID of the node's pod at that time. Another pod is tried anew.
	// +optional
	PodUID string `json:"podUID,omitempty"`
	// attempts is how many attempts in a row were abandoned. After two of them the operation waits for a person.
	Attempts int32 `json:"attempts"`
	// abandonedAt is when the last attempt was abandoned.
	AbandonedAt metav1.Time `json:"abandonedAt"`
	// message describes what was wrong with the node.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// CompletedOperation is an operation that has ended.
type CompletedOperation struct {
	// type of the operation.
	// +kubebuilder:validation:Enum=FirstStart;Recover;RebuildQuorum;Restart;ScaleDown;Hibernate;SwitchTLS
	Type string `json:"type"`
	// epoch is the number of the operation.
	Epoch int64 `json:"epoch"`
	// startedAt is when the operation began.
	StartedAt metav1.Time `json:"startedAt"`
	// completedAt is when its end was observed.
	CompletedAt metav1.Time `json:"completedAt"`
	// message describes how the operation ended.
	// +optional
	Message string `json:"message,omitempty"`
}
