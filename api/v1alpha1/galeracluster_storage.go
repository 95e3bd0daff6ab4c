package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// StorageSpec is the volume of each node.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: a volume keeps the class it was made with; create a new cluster and restore into it"
type StorageSpec struct {
	// size of each node's volume, for instance 10Gi. At least 256Mi. It can grow while the cluster runs if the
	// StorageClass allows it (allowVolumeExpansion); no node is restarted. If an expansion is impossible, size can
	// be set back to status.volumeSize.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('256Mi')) >= 0",message="size must be at least 256Mi: an empty database with its write-set cache needs that much"
	Size resource.Quantity `json:"size"`

	// storageClassName of the volumes. Default: the default StorageClass.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// temporary is a volume of each node for temporary files: sorts that do not fit in memory, and ALTER TABLE. It is made
	// with the pod and deleted with it. When it is full, the statement fails. A change restarts the nodes one at a time.
	// Default: none; temporary files are on the host's disk, and Kubernetes evicts pods when that is full.
	// +optional
	Temporary *TemporaryStorage `json:"temporary,omitempty"`

	// persistentVolumeClaimRetentionPolicy defines whether volumes are kept or deleted after use, like the
	// StatefulSet's field of that name. Default: all are kept.
	// +optional
	// +kubebuilder:default={}
	PersistentVolumeClaimRetentionPolicy ClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
}

// TemporaryStorage is the volume for a node's temporary files.
type TemporaryStorage struct {
	// size of each node's volume for temporary files, for instance 5Gi. At least 64Mi.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Mi')) >= 0",message="size must be at least 64Mi"
	Size resource.Quantity `json:"size"`

	// storageClassName of these volumes. Default: the default StorageClass.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`
}

// ClaimRetentionPolicy defines whether volumes are kept or deleted after use.
type ClaimRetentionPolicy struct {
	// whenDeleted defines whether the volumes and the Secret with root's password are kept when the cluster is deleted:
	// Retain or Delete. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	WhenDeleted ClaimPolicy `json:"whenDeleted,omitempty"`
	// whenScaled defines whether the volume of a node removed by scaling down is kept: Retain or Delete. With a kept
	// volume the node can rejoin by IST; without it, it needs SST. A volume is deleted only after the node was seen to
	// stop gracefully. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	WhenScaled ClaimPolicy `json:"whenScaled,omitempty"`
}

// ClaimPolicy is Retain or Delete.
type ClaimPolicy string

// Values of ClaimPolicy.
const (
	ClaimRetain ClaimPolicy = "Retain"
	ClaimDelete ClaimPolicy = "Delete"
)
