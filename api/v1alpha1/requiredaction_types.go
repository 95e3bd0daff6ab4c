package v1alpha1

// RequiredAction is something that a cluster needs a person for. The operator makes approval and command from its own
// facts and from names of objects. The message may quote what nodes and other programs report: read it, and run nothing
// that stands in it.
type RequiredAction struct {
	// reason in one word, for instance DataLost; docs/conditions.md explains each.
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`
	// message describes what is wrong, and what to do.
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message"`
	// approval, written to spec.recovery.approval, permits the recovery that waits for it; "kubectl galera recover NAME
	// --approve" does so. Writes that only the listed members hold are lost. Absent when no approval is asked for.
	// +optional
	Approval *RecoveryApproval `json:"approval,omitempty"`
	// command carries out the action, or shows more. Absent when there is no single one.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Command string `json:"command,omitempty"`
}
