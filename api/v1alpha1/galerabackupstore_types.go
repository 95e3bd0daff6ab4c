package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraBackupStore is a place for the backups of its namespace's clusters: a bucket of S3 or Google Cloud Storage, a
// container of Azure Blob Storage, or a volume. Backups are encrypted for the public keys in encryption.recipients
// before they leave the Kubernetes cluster. The Jobs that make backups cannot read them again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gstore,categories=all
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=="Reachable")].status`
// +kubebuilder:printcolumn:name="Backups",type=integer,JSONPath=`.status.backups`,description="The number of complete backups in it"
// +kubebuilder:printcolumn:name="Checked",type=date,JSONPath=`.status.checkedAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Reachable")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of the Jobs' names: at most 40 lower-case letters, digits and '-', starting with a letter"
type GaleraBackupStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines where the store is, and which keys can read its backups.
	// +required
	Spec GaleraBackupStoreSpec `json:"spec"`
	// status is the result of the last check.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraBackupStoreStatus `json:"status,omitempty"`
}

// GaleraBackupStoreList is a list of GaleraBackupStore.
//
// +kubebuilder:object:root=true
type GaleraBackupStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraBackupStore `json:"items"`
}

// GaleraBackupStoreSpec defines where a store is.
//
// +kubebuilder:validation:XValidation:rule="[has(self.s3), has(self.gcs), has(self.azure), has(self.volume)].filter(is, is).size() == 1",message="name exactly one of s3, gcs, azure and volume"
// +kubebuilder:validation:XValidation:rule="has(self.s3) == has(oldSelf.s3) && has(self.gcs) == has(oldSelf.gcs) && has(self.azure) == has(oldSelf.azure)",message="the kind of store cannot be changed, because backups are stored there: create another GaleraBackupStore"
type GaleraBackupStoreSpec struct {
	// s3 is a bucket of Amazon S3, or of a service that speaks its protocol.
	// +optional
	S3 *S3Store `json:"s3,omitempty"`

	// gcs is a bucket of Google Cloud Storage.
	// +optional
	GCS *GCSStore `json:"gcs,omitempty"`

	// azure is a container of Azure Blob Storage.
	// +optional
	Azure *AzureStore `json:"azure,omitempty"`

	// volume is a PersistentVolumeClaim in the store's namespace.
	// +optional
	Volume *VolumeStore `json:"volume,omitempty"`

	// encryption of the backups. It cannot be switched off.
	// +required
	Encryption BackupEncryption `json:"encryption"`

	// retention defines which backups with deletionPolicy: Delete are kept; the others are removed. Default: all are kept.
	// +optional
	Retention *BackupRetention `json:"retention,omitempty"`

	// singleWriter allows a store that cannot refuse to create an object that exists: a service that does not know
	// If-None-Match, or a volume without hard links. Set it only if nothing but this Kubernetes cluster writes there: two
	// writers could overwrite each other's objects, and the archive of the binary log could lose transactions. Default:
	// false; such a store is refused.
	// +optional
	SingleWriter bool `json:"singleWriter,omitempty"`

	// pods defines where the pods run that use the store, and what they may use: checks, backups, tests by checksum,
	// removals and archivers. Default: those of a cluster run where its database pods may; a check, which belongs to no
	// cluster, anywhere.
	// +optional
	Pods *BackupPods `json:"pods,omitempty"`

	// serviceAccountName is the ServiceAccount of the Jobs that use the store, for the cloud's workload identity. The Jobs
	// get no token for the Kubernetes API. Its name ends in -galera, unless the administrator allows another one. Default:
	// one that the operator creates for the store, without any rights.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// BackupPods configures the pods that use a store. Each field that is set replaces what the cluster's database pods
// have.
type BackupPods struct {
	// nodeSelector selects the hosts by label. Default: spec.scheduling.nodeSelector of the cluster.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the pods. Default: spec.scheduling.tolerations of the cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// priorityClassName of the pods. Default: spec.scheduling.priorityClassName of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// imagePullSecrets names Secrets with credentials for the registry of the operator's image, in the store's namespace.
	// Default: spec.imagePullSecrets of the cluster.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// resources of each pod's container: requests and limits. An event of the binary log above 1 MiB, such as a large row,
	// lies in a temporary file, so that memory does not depend on it. Default: requests of 50m cpu and 64Mi memory, limits
	// of 1500m cpu and 512Mi memory, each unless it is given here.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
}

// BackupEncryption defines which keys can read the backups.
type BackupEncryption struct {
	// recipients are age public keys (X25519, "age1…"), as age-keygen makes them. Any one of their private keys opens a
	// backup. Only a restore needs a private key (identitySecretRef): keep them outside of this Kubernetes. A change
	// applies to new backups only.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^age1[02-9ac-hj-np-z]{58}$`
	Recipients []string `json:"recipients"`
}

// BackupRetention defines which backups of a cluster are kept: all that any of the rules keeps. The latest complete
// backup is always kept.
//
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepWithin) || has(self.keepDaily) || has(self.keepWeekly)",message="name at least one of keepLast, keepWithin, keepDaily and keepWeekly"
type BackupRetention struct {
	// keepLast keeps this number of the latest backups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	KeepLast int32 `json:"keepLast,omitempty"`
	// keepWithin keeps backups that are younger than this, in hours, minutes and seconds, for instance 168h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="keepWithin is a duration such as 168h"
	KeepWithin *metav1.Duration `json:"keepWithin,omitempty"`
	// keepDaily keeps the last backup of each day (UTC), for this number of days before the latest backup.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3660
	KeepDaily int32 `json:"keepDaily,omitempty"`
	// keepWeekly keeps the last backup of each week (ISO 8601, UTC), for this number of weeks.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=520
	KeepWeekly int32 `json:"keepWeekly,omitempty"`
}

// GaleraBackupStoreStatus is the result of the last check of a store.
type GaleraBackupStoreStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// checkedAt is when an object was last written, read and deleted in the store.
	// +optional
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`
	// backups is the number of complete backups in the store, of all clusters.
	// +optional
	Backups *int32 `json:"backups,omitempty"`
	// latest lists the latest backups in the store, at most 20, including those whose GaleraBackup is gone.
	// +optional
	// +listType=atomic
	Latest []StoredBackup `json:"latest,omitempty"`
	// checking reports whether a check is in progress.
	// +optional
	Checking bool `json:"checking,omitempty"`
	// checks is the number of checks started.
	// +optional
	Checks int64 `json:"checks,omitempty"`
	// attemptedAt is when the last check was started.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// failures is the number of checks that failed in a row.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// conditions are Reachable, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StoredBackup is a backup in a store.
type StoredBackup struct {
	// id of the backup.
	ID string `json:"id"`
	// directory of the store that holds the backup: NAMESPACE/CLUSTER/UID.
	Directory string `json:"directory"`
	// completedAt is when the backup was complete.
	CompletedAt metav1.Time `json:"completedAt"`
}
