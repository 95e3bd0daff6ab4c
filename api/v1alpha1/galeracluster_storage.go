package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// StorageSpec is the volume of each node.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName cannot be changed: a volume keeps the class it was made with; create a new cluster and restore into it"
type StorageSpec struct {
	// size of each node's volume, for instance 10Gi. At least 256Mi. It can be raised while the cluster
	// runs, where the StorageClass allows it (allowVolumeExpansion): no node is restarted for it. A size
	// that cannot be had can be set back, as far as status.volumeSize.
	// +required
	// +kubebuilder:validation:XValidation:rule="quantity(self).compareTo(quantity('256Mi')) >= 0",message="size must be at least 256Mi: an empty database with its write-set cache needs that much"
	Size resource.Quantity `json:"size"`

	// storageClassName of the volumes. Default: the default StorageClass.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StorageClassName *string `json:"storageClassName,omitempty"`

	// persistentVolumeClaimRetentionPolicy says what becomes of volumes that are not needed any more, as a StatefulSet's field of
	// that name does. Default: all are kept.
	// +optional
	// +kubebuilder:default={}
	PersistentVolumeClaimRetentionPolicy ClaimRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
}

// ClaimRetentionPolicy says what becomes of volumes that are not needed any more.
type ClaimRetentionPolicy struct {
	// whenDeleted is Retain or Delete: what becomes of the volumes, and of the Secret with root's password, when the cluster is
	// deleted. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	WhenDeleted ClaimPolicy `json:"whenDeleted,omitempty"`
	// whenScaled is Retain or Delete: what becomes of the volume of a node that was scaled away. One that is kept makes its node
	// catch up by IST when it comes back; one that is deleted makes it copy all data. It is deleted only when the node was seen
	// to have left in good order. Default: Retain.
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
