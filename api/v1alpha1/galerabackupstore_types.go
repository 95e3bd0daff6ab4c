package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GaleraBackupStore is a place where the backups of its namespace's clusters are kept: a bucket of an S3 service, or a volume. Backups
// are encrypted before they leave the cluster's network, for the public keys in encryption.recipients. The Jobs that make backups cannot read
// them.
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

	// spec says where the store is, and who can read its backups.
	// +required
	Spec GaleraBackupStoreSpec `json:"spec"`
	// status is what was last found there.
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

// GaleraBackupStoreSpec says where a store is.
//
// +kubebuilder:validation:XValidation:rule="has(self.s3) != has(self.volume)",message="name exactly one of s3 and volume"
// +kubebuilder:validation:XValidation:rule="has(self.s3) == has(oldSelf.s3) && (!has(self.s3) || self.s3.bucket == oldSelf.s3.bucket && has(self.s3.prefix) == has(oldSelf.s3.prefix) && (!has(self.s3.prefix) || self.s3.prefix == oldSelf.s3.prefix)) && (!has(self.volume) || self.volume.claimName == oldSelf.volume.claimName)",message="the place cannot be changed, because backups lie there: make another GaleraBackupStore"
type GaleraBackupStoreSpec struct {
	// s3 is a bucket of Amazon S3, or of a service that speaks its protocol.
	// +optional
	S3 *S3Store `json:"s3,omitempty"`

	// volume is a PersistentVolumeClaim in the store's namespace.
	// +optional
	Volume *VolumeStore `json:"volume,omitempty"`

	// encryption of the backups. It cannot be switched off.
	// +required
	Encryption BackupEncryption `json:"encryption"`

	// retention says which backups with deletionPolicy Delete are kept. Default: all.
	// +optional
	Retention *BackupRetention `json:"retention,omitempty"`

	// serviceAccountName is the ServiceAccount of the Jobs that use the store, for workload identity: the cloud gives rights to it by
	// its annotations. Default: the namespace's default. The Jobs have no token of Kubernetes itself.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// S3Store is a bucket.
type S3Store struct {
	// bucket must exist.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	Bucket string `json:"bucket"`
	// prefix of all names in the bucket, without a slash at its beginning or end. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="must not contain '.' or '..' between slashes"
	Prefix string `json:"prefix,omitempty"`
	// endpoint of a service other than Amazon's, https://HOST[:PORT]. Default: Amazon's in the region.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[][A-Za-z0-9.:-]+/?$`
	Endpoint string `json:"endpoint,omitempty"`
	// region of the bucket. Default: us-east-1.
	// +optional
	// +kubebuilder:default=us-east-1
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`
	// credentials in a Secret. Default: those of serviceAccountName's workload identity.
	// +optional
	Credentials *S3Credentials `json:"credentials,omitempty"`
	// caBundle is the CA of the endpoint's certificate, and the only one that is trusted then. Default: the public CAs (Mozilla's list).
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`
	// forcePathStyle puts the bucket's name into the path instead of the host name, as most services other than Amazon's need. Default: false.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
}

// S3Credentials is a Secret in the store's namespace. It is mounted into the Jobs that use the store, and into no pod of a database.
type S3Credentials struct {
	// secretName is the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// accessKeyIDKey is the key of the access key's ID. Default: access-key-id.
	// +optional
	// +kubebuilder:default=access-key-id
	AccessKeyIDKey string `json:"accessKeyIDKey,omitempty"`
	// secretAccessKeyKey is the key of the secret access key. Default: secret-access-key.
	// +optional
	// +kubebuilder:default=secret-access-key
	SecretAccessKeyKey string `json:"secretAccessKeyKey,omitempty"`
	// sessionTokenKey is the key of a session token. Default: none.
	// +optional
	SessionTokenKey string `json:"sessionTokenKey,omitempty"`
}

// CABundle is a file with CA certificates in PEM, in a Secret or a ConfigMap of the store's namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretName) != has(self.configMapName)",message="name exactly one of secretName and configMapName"
type CABundle struct {
	// secretName is a Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// configMapName is a ConfigMap.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName,omitempty"`
	// key in it. Default: ca.crt.
	// +optional
	// +kubebuilder:default=ca.crt
	Key string `json:"key,omitempty"`
}

// VolumeStore is a volume.
type VolumeStore struct {
	// claimName is a PersistentVolumeClaim. Jobs on several hosts need one with ReadWriteMany.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName"`
}

// BackupEncryption says who can read backups.
type BackupEncryption struct {
	// recipients are age public keys (X25519, "age1…"), made by age-keygen. Any of their private keys opens a backup; a restore names it
	// in identitySecretRef, and nothing else needs it. Keep the private keys outside of this Kubernetes. A change holds for new backups.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^age1[02-9ac-hj-np-z]{58}$`
	Recipients []string `json:"recipients"`
}

// BackupRetention says which backups of a cluster are kept: all that any of the rules keeps. The latest complete backup is always kept.
//
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepWithin) || has(self.keepDaily) || has(self.keepWeekly)",message="name at least one of keepLast, keepWithin, keepDaily and keepWeekly"
type BackupRetention struct {
	// keepLast is how many of the latest backups are kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	KeepLast int32 `json:"keepLast,omitempty"`
	// keepWithin keeps backups that are younger than this, for instance 168h.
	// +optional
	KeepWithin *metav1.Duration `json:"keepWithin,omitempty"`
	// keepDaily is for how many days, counted from the latest backup, the last backup of the day (UTC) is kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3660
	KeepDaily int32 `json:"keepDaily,omitempty"`
	// keepWeekly is for how many weeks the last backup of the week (ISO 8601, UTC) is kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=520
	KeepWeekly int32 `json:"keepWeekly,omitempty"`
}

// GaleraBackupStoreStatus is what was last found in a store.
type GaleraBackupStoreStatus struct {
	// observedGeneration is the generation of the spec the status is about; -1 before the first look.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// checkedAt is when the store was last written, read and cleaned up.
	// +optional
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`
	// backups is the number of complete backups in the store, of all clusters.
	// +optional
	Backups *int32 `json:"backups,omitempty"`
	// latest are the latest backups in the store, at most 20: also those that no GaleraBackup is about any more.
	// +optional
	// +listType=atomic
	Latest []StoredBackup `json:"latest,omitempty"`
	// checking says that a check is under way.
	// +optional
	Checking bool `json:"checking,omitempty"`
	// checks is how many checks were begun.
	// +optional
	Checks int64 `json:"checks,omitempty"`
	// attemptedAt is when the last check was begun.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// failures is the number of checks that have failed in a row.
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
	// directory of the store it lies in: NAMESPACE/CLUSTER/UID.
	Directory string `json:"directory"`
	// completedAt is when it was complete.
	CompletedAt metav1.Time `json:"completedAt"`
}
