package v1alpha1

// Values of OperationWorkload.Operations.
const (
	// OperationRenewal renews the nodes' certificate.
	OperationRenewal = "Renewal"
	// OperationRestart restarts a node that is not the primary, which rejoins by IST.
	OperationRestart = "Restart"
	// OperationPromotion makes another node the primary.
	OperationPromotion = "Promotion"
)

// OperationWorkload writes through NAME-primary, one row in each transaction, and measures what an operation costs while it lasts. What a
// full copy costs is measured by stateTransfer with loadThreads.
type OperationWorkload struct {
	// operations lists Renewal (a new certificate for all nodes), Restart (of one node that is not the primary; it rejoins by
	// IST) and Promotion (another node becomes the primary). Each is measured. Default: all three.
	// +optional
	// +kubebuilder:default={"Renewal","Restart","Promotion"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=Renewal;Restart;Promotion
	Operations []string `json:"operations,omitempty"`

	// tables is the number of tables, 1 to 256. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Tables int32 `json:"tables,omitempty"`

	// tableSize is the number of rows in each table, 1 to 1000000000. A row takes some 240 bytes. Default: 10000.
	// +optional
	// +kubebuilder:default=10000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	TableSize int64 `json:"tableSize,omitempty"`

	// threads is the number of client connections, 1 to 256. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Threads int32 `json:"threads,omitempty"`
}
