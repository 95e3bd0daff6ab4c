package v1alpha1

// RecoverySpec is what a person decides about a recovery that the operator must not decide.
type RecoverySpec struct {
	// approval permits one recovery without some of the members, whose positions can never be known again. The condition QuorumHealthy
	// prints the whole command. It is for one situation: it does nothing when a position, the epoch or who is missing is another, and
	// nothing once it was used. It may then be removed, or stay.
	// +optional
	Approval *RecoveryApproval `json:"approval,omitempty"`
}

// RecoveryApproval permits one recovery without some members. Writes that only they hold are lost.
type RecoveryApproval struct {
	// member is the node that starts the cluster: the one with the latest position known.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`
	// history is the UUID of that node's position.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:XValidation:rule="self != '00000000-0000-0000-0000-000000000000'",message="the zero UUID is no history"
	History string `json:"history"`
	// seqno is the number of the last write-set that node has.
	// +required
	// +kubebuilder:validation:Minimum=0
	Seqno int64 `json:"seqno"`
	// epoch is the number of the operation this is for: the one after status.epoch. Another operation makes the approval void.
	// +required
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch"`
	// without lists the members the cluster starts without. One that is missing and not listed makes the approval void.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	// +listType=map
	// +listMapKey=name
	Without []GivenUpMember `json:"without"`
}

// GivenUpMember is a member a recovery goes on without.
type GivenUpMember struct {
	// name of the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// as says what is known of it. Gone: it certainly does not run; make sure of it. Running: its server runs and does not answer, and is ended first.
	// Unable: its position is known and ahead, and its data cannot be started; what only it has is lost. Default: Gone.
	// +optional
	// +kubebuilder:default=Gone
	// +kubebuilder:validation:Enum=Gone;Running;Unable
	As string `json:"as,omitempty"`
}
