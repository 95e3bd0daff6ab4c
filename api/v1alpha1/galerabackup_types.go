package v1alpha1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraBackup is one backup of a cluster. A Synced node, not the primary where there is another one, streams a copy of
// its data (mariadb-backup) to a Job, which compresses, encrypts and stores it. The cluster stays in service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gbackup,categories=all
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.storedSize`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completedAt`
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
// +kubebuilder:printcolumn:name="Position",type=string,priority=1,JSONPath=`.status.position`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of the Jobs' names: at most 52 lower-case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.__import__) || self.spec.deletionPolicy == 'Retain' || has(self.status) && has(self.status.phase) && self.status.phase == 'Completed' && has(self.status.id) && self.status.id == self.spec.__import__.id",message="an imported backup has deletionPolicy: Retain until it is Completed: its data were there before this object, and are removed with it only if you set Delete then"
type GaleraBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what to back up, and where to. It is immutable, except for deletionPolicy, verify, and an
	// identitySecretRef that is added.
	// +required
	// +kubebuilder:validation:XValidation:rule="has(self.incremental) == has(oldSelf.incremental) && (!has(self.incremental) || self.incremental == oldSelf.incremental)",message="incremental cannot be changed: create another GaleraBackup"
	Spec GaleraBackupSpec `json:"spec"`
	// status is the backup's progress and result.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraBackupStatus `json:"status,omitempty"`
}

// GaleraBackupList is a list of GaleraBackup.
//
// +kubebuilder:object:root=true
type GaleraBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraBackup `json:"items"`
}

// LocalName names an object in the same namespace.
type LocalName struct {
	// name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// BackupClusterRef names the cluster of a backup.
type BackupClusterRef struct {
	// name of the GaleraCluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the GaleraCluster. Another namespace than this backup's is only for the operator, which makes a clone
	// with it (spec.bootstrapFrom.cluster of a GaleraCluster); it is refused otherwise. Default: this backup's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
}

// Source returns the namespace and the name of the cluster that the backup is of.
func (b *GaleraBackup) Source() (namespace, name string) {
	return cmp.Or(b.Spec.ClusterRef.Namespace, b.Namespace), b.Spec.ClusterRef.Name
}

// Damaged reports whether a test has found the backup damaged.
func (b *GaleraBackup) Damaged() bool {
	c := meta.FindStatusCondition(b.Status.Conditions, ConditionVerified)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == ReasonBackupDamaged
}

// Values of GaleraBackupSpec.
const (
	BackupMethodStream    = "Stream"
	BackupCompressionZstd = "Zstd"
	BackupCompressionNone = "None"
	BackupRetain          = "Retain"
	BackupDelete          = "Delete"
	VerifyNone            = "None"
	VerifyChecksum        = "Checksum"
	VerifyRestore         = "Restore"
)

// GaleraBackupSpec defines what to back up.
//
// +kubebuilder:validation:XValidation:rule="self.verify != 'Restore' || has(self.identitySecretRef)",message="verify: Restore needs identitySecretRef: a Secret with the private key of one of the store's recipients"
// +kubebuilder:validation:XValidation:rule="self.compression != 'None' || self.compressionLevel == 'Fastest'",message="compressionLevel goes with compression: Zstd"
// +kubebuilder:validation:XValidation:rule="!has(self.__import__) || !has(self.clusterRef.__namespace__)",message="an imported backup has no clusterRef.namespace"
// +kubebuilder:validation:XValidation:rule="!has(self.incremental) || !has(self.__import__) && !has(self.clusterRef.__namespace__)",message="incremental is for a backup that is made of a cluster in this namespace: remove it, or import and clusterRef.namespace"
// +kubebuilder:validation:XValidation:rule="has(self.__import__) == has(oldSelf.__import__) && (!has(self.__import__) || self.__import__ == oldSelf.__import__)",message="import cannot be changed: create another GaleraBackup"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.identitySecretRef)||has(self.identitySecretRef)",message="keep identitySecretRef"
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef && self.storeRef == oldSelf.storeRef && self.method == oldSelf.method && self.compression == oldSelf.compression && self.compressionLevel == oldSelf.compressionLevel && has(self.rateLimit) == has(oldSelf.rateLimit) && (!has(self.rateLimit) || quantity(string(self.rateLimit)).compareTo(quantity(string(oldSelf.rateLimit))) == 0)",message="a backup cannot be changed, except for deletionPolicy, verify and identitySecretRef: create another GaleraBackup"
type GaleraBackupSpec struct {
	// clusterRef is the GaleraCluster.
	// +required
	ClusterRef BackupClusterRef `json:"clusterRef"`
	// storeRef is the GaleraBackupStore.
	// +required
	StoreRef LocalName `json:"storeRef"`
	// method of the backup: Stream. mariadb-backup's copy goes to the store as one stream, and needs no space on any
	// volume. Default: Stream.
	// +optional
	// +kubebuilder:default=Stream
	// +kubebuilder:validation:Enum=Stream
	Method string `json:"method,omitempty"`
	// compression before the encryption: Zstd or None. Default: Zstd.
	// +optional
	// +kubebuilder:default=Zstd
	// +kubebuilder:validation:Enum=Zstd;None
	Compression string `json:"compression,omitempty"`
	// compressionLevel of Zstd: Fastest, Default, Better or Best, about the levels 1, 3, 7 and 11 of the program zstd.
	// Each takes more processor time than the one before, for a smaller backup: the node waits meanwhile if the Job is
	// slower than its disk. Default: Fastest.
	// +optional
	// +kubebuilder:default=Fastest
	// +kubebuilder:validation:Enum=Fastest;Default;Better;Best
	CompressionLevel string `json:"compressionLevel,omitempty"`
	// rateLimit is the most that is read from the node, in bytes per second, for instance 50Mi. At least 64Ki. Default: no
	// limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="rateLimit must be at least 64Ki (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`
	// incremental copies only what has changed since the latest backup of the cluster in this store, so that it is smaller
	// and takes less of the network. It is read from the node that this one was read from, and needs it, and all that it
	// adds to, for a restore. A full backup is made where none can be added to, for instance because the node is the
	// primary now, or has got its data from another one since; status.incremental has the reason. Default: none; a full
	// backup is made.
	// +optional
	Incremental *BackupIncremental `json:"incremental,omitempty"`
	// deletionPolicy defines what happens to the stored data when this object is deleted: Retain keeps them, Delete
	// removes them. The store's retention removes only backups with Delete. For an import, Delete can be set once it is
	// Completed: its data are removed with this object if nothing else is known to need them. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// verify defines how the backup is tested once it is in the store. None: not at all. Checksum: all of it is read
	// again, and compared with its checksums. Restore: it is restored on a temporary volume, and every table is checked.
	// With Checksum and Restore, retention counts the backup only after it has passed. Default: None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;Checksum;Restore
	Verify string `json:"verify,omitempty"`
	// identitySecretRef names a Secret in this namespace with the private key of one of the recipients (an age identity,
	// "AGE-SECRET-KEY-1…"). Only verify: Restore needs it. It cannot be changed once it is set, and a Secret that belongs
	// to a cluster is refused. Use a key pair of its own for that, and add its public key to the store's recipients.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="identitySecretRef cannot be changed once it is set"
	IdentitySecretRef *SecretKey `json:"identitySecretRef,omitempty"`
	// import makes this object about a backup that is in the store already, for instance after a disaster, instead of
	// making one. Its data stay when this object is deleted, unless deletionPolicy was set to Delete since. clusterRef
	// names the cluster that it is listed with, which need not exist. Default: none; a backup is made.
	// +optional
	Import *BackupImport `json:"import,omitempty"`
}

// BackupIncremental bounds a chain of increments.
type BackupIncremental struct {
	// maxIncrements is the most increments that a full backup may have: the next one is full again. A restore adds one
	// after the other. Default: 6, so that of a schedule for every night one a week is full.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	MaxIncrements int32 `json:"maxIncrements,omitempty"`
}

// BackupImport names a backup in a store, as status.latest of the GaleraBackupStore lists it.
type BackupImport struct {
	// directory of the store that holds the backup: NAMESPACE/CLUSTER/UID.
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]+$`
	Directory string `json:"directory"`
	// id of the backup.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ID string `json:"id"`
}

// Phases of a GaleraBackup.
const (
	BackupPending   = "Pending"
	BackupRunning   = "Running"
	BackupCompleted = "Completed"
	BackupFailed    = "Failed"
)

// GaleraBackupStatus is a backup's progress and result.
type GaleraBackupStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// phase is Pending, Running, Completed or Failed.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Running;Completed;Failed
	Phase string `json:"phase,omitempty"`
	// id of the backup in the store.
	// +optional
	ID string `json:"id,omitempty"`
	// directory of the store that holds the backup.
	// +optional
	Directory string `json:"directory,omitempty"`
	// store is where the backup lies, as the GaleraBackupStore named it when the backup was made or imported. While the
	// store names another location, the backup is neither restored, tested nor removed (StoreChanged). Absent if that is
	// not known, because an earlier release has made it: it is recorded when the backup is seen in the store.
	// +optional
	Store *StoreLocation `json:"store,omitempty"`
	// clusterUID is the UID of the GaleraCluster.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// attempts is the number of Jobs started for the backup: at most 5, or more if the store cannot be reached or is full.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// attemptedAt is when the last Job was started.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// node from which the data are, or were, read.
	// +optional
	Node string `json:"node,omitempty"`
	// progress of a running backup.
	// +optional
	Progress *BackupProgress `json:"progress,omitempty"`
	// progressAt is when progress was last updated.
	// +optional
	ProgressAt *metav1.Time `json:"progressAt,omitempty"`
	// removals is the number of failed attempts to remove the data from the store.
	// +optional
	Removals int32 `json:"removals,omitempty"`
	// position of the backup in Galera's history, UUID:SEQNO.
	// +optional
	Position string `json:"position,omitempty"`
	// gtid is the position in the binary log. Absent if the cluster writes none.
	// +optional
	GTID string `json:"gtid,omitempty"`
	// serverVersion of the node. A restore needs the same series or a later one.
	// +optional
	ServerVersion string `json:"serverVersion,omitempty"`
	// dataSize is the size of the copy before compression.
	// +optional
	DataSize *resource.Quantity `json:"dataSize,omitempty"`
	// storedSize is the size of the backup in the store.
	// +optional
	StoredSize *resource.Quantity `json:"storedSize,omitempty"`
	// checksum is the SHA-256 of the backup's manifest, which contains the checksums of all parts.
	// +optional
	Checksum string `json:"checksum,omitempty"`
	// encryptionKeys are those that the data in the backup are encrypted with: the Secret of the cluster must keep them
	// for as long as the backup is to be restored or tested. Empty for data in clear.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	EncryptionKeys []EncryptionKeyStatus `json:"encryptionKeys,omitempty"`
	// recipients are the public keys for which the backup is encrypted.
	// +optional
	// +listType=atomic
	Recipients []string `json:"recipients,omitempty"`
	// startedAt is when the copy began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// completedAt is when the backup was complete in the store.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// verification is the progress of the test of spec.verify. The condition Verified has the result.
	// +optional
	Verification *BackupVerification `json:"verification,omitempty"`
	// lsn is the log sequence number of InnoDB at which an increment of this backup begins. Absent if there can be none.
	// +optional
	LSN int64 `json:"lsn,omitempty"`
	// incremental is the backup's place in a chain. Absent for a full backup that was asked for as one.
	// +optional
	Incremental *BackupChain `json:"incremental,omitempty"`
	// conditions are Complete, Verified, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BackupChain is the place of a backup in a chain of increments.
type BackupChain struct {
	// base is the id of the backup that this one adds to. A restore needs it. Absent for a full backup.
	// +optional
	Base string `json:"base,omitempty"`
	// depth is the number of increments from the full backup to this one. Absent for a full backup.
	// +optional
	Depth int32 `json:"depth,omitempty"`
	// fullBecause is why a full backup is, or was, made although an increment was asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FullBecause string `json:"fullBecause,omitempty"`
	// failures is the number of attempts to make an increment that have failed. Those of a store that is away, is full or
	// refuses do not count.
	// +optional
	Failures int32 `json:"failures,omitempty"`
}

// Phases of a BackupVerification.
const (
	VerifyRunning   = "Running"
	VerifySucceeded = "Succeeded"
	VerifyFailed    = "Failed"
)

// BackupVerification is the test of a backup.
type BackupVerification struct {
	// method is the value of spec.verify when the test began. Another value begins another test.
	Method string `json:"method"`
	// phase is Running, Succeeded or Failed.
	// +kubebuilder:validation:Enum=Running;Succeeded;Failed
	Phase string `json:"phase"`
	// attempts is the number of Jobs started.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// attemptedAt is when the last Job was started.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// failures is the number of Jobs that failed in a row.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// verifiedAt is when the backup passed.
	// +optional
	VerifiedAt *metav1.Time `json:"verifiedAt,omitempty"`
	// took is how long the Job worked. With Restore it is about the time that a restore of one node takes.
	// +optional
	Took *metav1.Duration `json:"took,omitempty"`
	// tables is the number of tables that passed, with Restore.
	// +optional
	Tables int32 `json:"tables,omitempty"`
	// damagedBy is the method of the test that has found the backup damaged. What Restore has found, only a later test
	// with Restore can disprove; a test with Checksum leaves Verified False then. Absent if no test has found damage.
	// +optional
	// +kubebuilder:validation:Enum=Checksum;Restore
	DamagedBy string `json:"damagedBy,omitempty"`
}

// BackupProgress is the progress of a copy. It is updated every ten seconds at most.
type BackupProgress struct {
	// bytesDone is the number of bytes read from the node so far.
	BytesDone resource.Quantity `json:"bytesDone"`
	// bytesTotal is the size of the node's data, an estimate of the bytes a backup reads. Absent, with eta and summary,
	// while what has changed since another backup is copied: its size is not known before.
	// +optional
	BytesTotal *resource.Quantity `json:"bytesTotal,omitempty"`
	// rate is the average rate so far, in bytes per second.
	// +optional
	Rate *resource.Quantity `json:"rate,omitempty"`
	// eta is when the copy will end at this rate.
	// +optional
	ETA *metav1.Time `json:"eta,omitempty"`
	// summary is the progress as text, for instance 40%.
	// +optional
	Summary string `json:"summary,omitempty"`
}
