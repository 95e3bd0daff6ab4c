package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BootstrapFrom names the backup, the living cluster, or the other server that a new cluster begins with. Every node
// restores a backup on its own volume, and the cluster forms with a new history, without any SST. Another server is
// copied to the first node's volume, and the other nodes receive an SST. If that cannot be done, the cluster is Stalled
// with the reason. It never comes up empty.
//
// +kubebuilder:validation:XValidation:rule="(has(self.backup) ? 1 : 0) + (has(self.store) ? 1 : 0) + (has(self.cluster) ? 1 : 0) + (has(self.external) ? 1 : 0) == 1",message="name exactly one of backup, store, cluster and external"
// +kubebuilder:validation:XValidation:rule="has(self.external) != has(self.identitySecretRef)",message="identitySecretRef is required for backup, store and cluster, and does not go with external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.pointInTime)",message="pointInTime does not go with external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.rateLimit)",message="rateLimit is for a backup: set external.rateLimit"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster) || !has(self.pointInTime)",message="pointInTime does not go with cluster: a clone holds what its source holds when it is copied; for a point in time name the store of the source's backups"
type BootstrapFrom struct {
	// backup is a completed GaleraBackup in the cluster's namespace.
	// +optional
	Backup *LocalName `json:"backup,omitempty"`
	// store names a backup in a GaleraBackupStore of the cluster's namespace. The backup may be that of a deleted cluster,
	// or from another Kubernetes.
	// +optional
	Store *BootstrapStore `json:"store,omitempty"`
	// cluster is a living GaleraCluster to clone, in this namespace or another one. It is copied once, with all accounts
	// and their passwords but root's, and stays in service.
	// +optional
	Cluster *BootstrapCluster `json:"cluster,omitempty"`
	// external is a running MariaDB server that no GaleraCluster describes, which is copied once.
	// +optional
	External *BootstrapExternal `json:"external,omitempty"`
	// identitySecretRef names a Secret in the cluster's namespace with the private key of one of the recipients (an age
	// identity, "AGE-SECRET-KEY-1…"). Only the Jobs of the restore mount it. You can delete it when the cluster has
	// started. Required unless external is set.
	// +optional
	IdentitySecretRef SecretKey `json:"identitySecretRef,omitempty,omitzero"`
	// pointInTime continues from the backup to a later point in time, with the archive of the binary log that
	// spec.backup.pointInTime made. Without backup.name and store.id the operator takes the latest backup before that
	// point. Default: none; the data are those of the backup.
	// +optional
	PointInTime *RestorePoint `json:"pointInTime,omitempty"`
	// rateLimit is the most that the Job of each node reads of the backup from the store, in bytes per second, for
	// instance 100Mi: all nodes read at the same time. At least 1Mi. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="rateLimit must be at least 1Mi (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`
}

// RestorePoint is where a restore ends.
//
// +kubebuilder:validation:XValidation:rule="(has(self.time) ? 1 : 0) + (has(self.gtid) ? 1 : 0) + (has(self.latest) && self.latest ? 1 : 0) == 1",message="name exactly one of time, gtid and latest: true"
type RestorePoint struct {
	// time: everything that was committed before it is restored, for instance before 2026-11-24T12:30:00Z or
	// 2026-11-24T12:30:00.250000Z: RFC 3339, with up to six digits after the second. The time of a transaction is when its
	// last statement began. Rows, and most statements, name a whole second: the restore ends before the first of them in
	// the named second. Only statements whose microseconds MariaDB logs, as some DDL, are compared with a fraction.
	// status.restore reports how many later transactions were left out; for a point between two of them set gtid.
	// +optional
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})$`
	Time string `json:"time,omitempty"`
	// gtid: the restore ends with this transaction, for instance 0-1-4711.
	// +optional
	// +kubebuilder:validation:MaxLength=42
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})-[1-9][0-9]{0,18}$`
	GTID string `json:"gtid,omitempty"`
	// latest: the restore ends with the last archived transaction. Default: false.
	// +optional
	Latest bool `json:"latest,omitempty"`
}

// SecretKey is a key of a Secret.
type SecretKey struct {
	// name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the Secret. Default: identity.
	// +optional
	// +kubebuilder:default=identity
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// BootstrapStore is a backup in a store.
type BootstrapStore struct {
	// name of the GaleraBackupStore.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace the backup's cluster was in. Default: this cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// cluster is the name of the backup's cluster. Default: this cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Cluster string `json:"cluster,omitempty"`
	// clusterUID is the metadata.uid of the backup's cluster, or its first eight characters, which are the last part of a
	// directory in the store's status. It is needed if the store has backups of several clusters of that namespace and
	// name. Default: the only one.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?$`
	// +kubebuilder:validation:MaxLength=36
	ClusterUID string `json:"clusterUID,omitempty"`
	// id of the backup. Default: the latest backup of that cluster, by the time at which it was complete.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ID string `json:"id,omitempty"`
}

// BootstrapCluster is a living cluster to clone. The clone's operator makes a temporary GaleraBackup of it, NAME-clone
// in the clone's namespace, and removes it from the store when the clone is Ready.
type BootstrapCluster struct {
	// name of the GaleraCluster to clone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// namespace of that GaleraCluster. Another namespace than this cluster's is accepted only if
	// spec.allowedCloneNamespaces of that cluster names this one. Default: this cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// storeRef names a GaleraBackupStore in this cluster's namespace, which the copy goes through, encrypted for the
	// store's recipients.
	// +required
	StoreRef LocalName `json:"storeRef"`
	// rateLimit is the most that is read from the source's node, in bytes per second, for instance 50Mi. At least 64Ki.
	// Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="rateLimit must be at least 64Ki (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`
}

// Phases of a RestoreStatus.
const (
	RestoreFinding   = "Finding"
	RestoreRestoring = "Restoring"
	RestoreCompleted = "Completed"
	RestoreFailed    = "Failed"
)

// RestoreStatus is the progress of spec.bootstrapFrom, or of what spec.replicaOf begins with.
type RestoreStatus struct {
	// phase is Finding (the backup is looked for, a clone's is made, or the other server is checked), Restoring (the
	// volumes are filled), Completed or Failed.
	// +kubebuilder:validation:Enum=Finding;Restoring;Completed;Failed
	Phase string `json:"phase"`
	// observedGeneration is the generation of the spec that this status describes. A failed restore begins again when the
	// spec changes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// id of the backup.
	// +optional
	ID string `json:"id,omitempty"`
	// directory of the store that holds the backup.
	// +optional
	Directory string `json:"directory,omitempty"`
	// checksum is the SHA-256 of the backup's manifest, as it was found: with another one nothing more is restored.
	// +optional
	Checksum string `json:"checksum,omitempty"`
	// store is the GaleraBackupStore.
	// +optional
	Store string `json:"store,omitempty"`
	// location is where the backup was found. While the store names another one, nothing more is read (StoreChanged).
	// +optional
	Location *StoreLocation `json:"location,omitempty"`
	// history is the UUID of the history the cluster begins with.
	// +optional
	History string `json:"history,omitempty"`
	// source is the position of the restored data in the history they come from, UUID:SEQNO.
	// +optional
	Source string `json:"source,omitempty"`
	// position is where every node begins in the new history.
	// +optional
	Position string `json:"position,omitempty"`
	// replay is the part of the archive that is applied to the backup. Absent without spec.bootstrapFrom.pointInTime.
	// +optional
	Replay *ReplayStatus `json:"replay,omitempty"`
	// external is what is known of the server that spec.bootstrapFrom.external names. Absent for other sources.
	// +optional
	External *ExternalStatus `json:"external,omitempty"`
	// progress is how far the copy of the other server is. Absent while no Job copies.
	// +optional
	Progress *CopyProgress `json:"progress,omitempty"`
	// restored are the nodes whose volume is filled.
	// +optional
	// +listType=set
	Restored []string `json:"restored,omitempty"`
	// attempts is how often failed parts were repeated.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// memberAttempts is the number of the attempt at each node's volume, by the node's name. A node without an entry has
	// that of attempts.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	MemberAttempts map[string]int32 `json:"memberAttempts,omitempty"`
	// attemptedAt is when they were last repeated.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// reason of a failure, or of a repeated attempt.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message describes what is being done, or what failed and what to do.
	// +optional
	Message string `json:"message,omitempty"`
	// startedAt is when the restore began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// completedAt is when every volume was filled.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// CopyProgress is how far the copy of another server is. It is updated every ten seconds at most.
type CopyProgress struct {
	// rows that are copied.
	Rows int64 `json:"rows"`
	// expectedRows is the source's estimate of all rows.
	ExpectedRows int64 `json:"expectedRows"`
	// bytes of the values in the copied rows.
	Bytes int64 `json:"bytes"`
	// tables to copy.
	Tables int32 `json:"tables"`
	// comparedTables is how many of them have been compared with the source, which begins when all rows are copied.
	// +optional
	ComparedTables int32 `json:"comparedTables,omitempty"`
	// eta is when all rows are copied at this rate; the tables are compared after that.
	// +optional
	ETA *metav1.Time `json:"eta,omitempty"`
	// summary is the progress as text, for instance 40%.
	Summary string `json:"summary"`
	// observedAt is when the Job has reported this.
	ObservedAt metav1.Time `json:"observedAt"`
}

// ReplayStatus is the part of the archive that is applied to a backup.
type ReplayStatus struct {
	// target is the requested point in time.
	Target string `json:"target"`
	// from and to are the numbers of the first and the last segment that are applied, 0 for none.
	// +optional
	From int64 `json:"from,omitempty"`
	// +optional
	To int64 `json:"to,omitempty"`
	// bytes is the size of the binary log in these segments.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// sum is the checksum of the last one, which covers all before.
	// +optional
	Sum string `json:"sum,omitempty"`
	// domain of the GTIDs.
	// +optional
	Domain int64 `json:"domain,omitempty"`
	// chain is the number of the segment from which on nothing is missing. A cluster that follows the archive goes on in a
	// later chain only if that begins exactly where this one has ended, and has its number here then.
	// +optional
	Chain int64 `json:"chain,omitempty"`
	// line is the line of history (HISTORY/ID) of the archive in which the cluster may have been sent more than was
	// archived (spec.replicaOf.endpoints): it goes on in a later one only with nothing that is not in the archive. Absent
	// where nothing was streamed.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Line string `json:"line,omitempty"`
	// reached is the GTID of the last applied transaction, the same on every node.
	// +optional
	Reached string `json:"reached,omitempty"`
	// late is how many transactions after it name a time before the target: they were committed after one that does not,
	// or name the target's second without a fraction. They are left out.
	// +optional
	Late int64 `json:"late,omitempty"`
}
