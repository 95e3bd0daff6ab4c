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
