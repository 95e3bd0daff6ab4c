package v1alpha1

// RecoverySpec holds the decisions about a recovery that the operator must not make itself.
type RecoverySpec struct {
	// approval permits one recovery without the listed members. Writes that only they hold are lost.
	// status.requiredActions has the complete approval when one is asked for. An approval is valid for one situation
	// and once: it has no effect if the position, the epoch or the set of missing members differs. A used approval may
	// stay in the spec.
	// +optional
	Approval *RecoveryApproval `json:"approval,omitempty"`
}

// RecoveryApproval permits one recovery without some members. Writes that only they hold are lost.
type RecoveryApproval struct {
	// member is the node that bootstraps the cluster: the one with the latest known position.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`
	// history is the UUID of that node's position.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	// +kubebuilder:validation:XValidation:rule="self != '00000000-0000-0000-0000-000000000000'",message="the zero UUID is no history"
	History string `json:"history"`
	// seqno of that node's position: the number of the last write-set it holds.
	// +required
	// +kubebuilder:validation:Minimum=0
	Seqno int64 `json:"seqno"`
	// epoch is the number of the operation that is approved: the one after status.epoch. Any other operation makes the
	// approval void.
	// +required
	// +kubebuilder:validation:Minimum=1
	Epoch int64 `json:"epoch"`
	// without lists the members to give up. A missing member that is not listed makes the approval void.
	// +required
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	// +listType=map
	// +listMapKey=name
	Without []GivenUpMember `json:"without"`
}

// GivenUpMember is a member that a recovery gives up.
type GivenUpMember struct {
	// name of the node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// as is the state in which the member is given up. Gone: its server does not run; make sure of that yourself. Running:
	// its server may run and does not answer; the operator ends it first. Unable: its position is known and the latest,
	// but mariadbd cannot start with its data; the writes only it holds are lost. Default: Gone.
	// +optional
	// +kubebuilder:default=Gone
	// +kubebuilder:validation:Enum=Gone;Running;Unable
	As string `json:"as,omitempty"`
}
