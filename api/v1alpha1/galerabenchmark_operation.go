package v1alpha1

// Values of OperationWorkload.Operations.
const (
	// OperationRenewal renews the nodes' certificate.
	OperationRenewal = "Renewal"
	// OperationRestart restarts a node that is not the primary, which rejoins by IST.
	OperationRestart = "Restart"
	// OperationPromotion makes another node the primary.
	OperationPromotion = "Promotion"
	// OperationSwitch turns replication's encryption the other way, and back.
	OperationSwitch = "Switch"
	// OperationJoinIST keeps a node away for a while, which then joins by IST.
	OperationJoinIST = "JoinIST"
	// OperationJoinSST replaces a node's volume, which then joins by SST.
	OperationJoinSST = "JoinSST"
	// OperationBackup makes a GaleraBackup.
	OperationBackup = "Backup"
)

// OperationWorkload writes through NAME-primary, one row in each transaction, and measures what an operation costs
// while it lasts.
//
// +kubebuilder:validation:XValidation:rule="('Backup' in self.operations) == has(self.storeRef)",message="the operation Backup needs storeRef, the GaleraBackupStore to back up to, and only Backup takes one"
type OperationWorkload struct {
	// operations lists Renewal (a new certificate for all nodes), Restart (of one node that is not the primary; it rejoins
	// by IST), Promotion (another node becomes the primary), Switch (replication's encryption is switched the other way
	// and back, by the template's tls.switchStrategy), JoinIST (a node that is not the primary is away for 20 seconds, and
	// joins by IST), JoinSST (its volume is replaced, and it joins by SST) and Backup (a GaleraBackup, removed with its
	// data afterwards). Each is measured. Default: Renewal, Restart and Promotion.
	// +optional
	// +kubebuilder:default={"Renewal","Restart","Promotion"}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:Enum=Renewal;Restart;Promotion;Switch;JoinIST;JoinSST;Backup
	Operations []string `json:"operations,omitempty"`

	// storeRef is the GaleraBackupStore that the operation Backup uses. Required with Backup, refused otherwise.
	// +optional
	StoreRef *LocalName `json:"storeRef,omitempty"`

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
