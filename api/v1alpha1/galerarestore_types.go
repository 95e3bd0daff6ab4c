package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraRestore brings one table, or all tables of one database, into a living cluster: those of a backup, as they were
// at a point in time, or those of another server. A Job restores the backup on a temporary volume, or connects to that
// server. It loads the tables into the cluster in small transactions, and compares them. They get their names only
// then. Nothing that is in the cluster is changed. A whole cluster is restored by spec.bootstrapFrom of a new
// GaleraCluster instead.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=grestore,categories=all
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Rows",type=integer,JSONPath=`.status.rows`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completedAt`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Copied",type=string,priority=1,JSONPath=`.status.progress.summary`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of the Jobs' names: at most 40 lower-case letters, digits and '-', starting with a letter"
type GaleraRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is restored, and under which name. It is immutable.
	// +required
	Spec GaleraRestoreSpec `json:"spec"`
	// status is the restore's progress and result.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraRestoreStatus `json:"status,omitempty"`
}

// GaleraRestoreList is a list of GaleraRestore.
//
// +kubebuilder:object:root=true
type GaleraRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraRestore `json:"items"`
}

// GaleraRestoreSpec defines what is restored.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a restore cannot be changed: create another GaleraRestore"
// +kubebuilder:validation:XValidation:rule="has(self.table) != has(self.database)",message="name exactly one of table and database"
// +kubebuilder:validation:XValidation:rule="has(self.from.external) || !has(self.table) || (has(self.table.into) ? self.table.into : self.table.database) != self.table.database || self.table.as != self.table.name",fieldPath=".table",message="an existing table is never overwritten: as must be another name than name, or into another database"
// +kubebuilder:validation:XValidation:rule="has(self.from.external) || !has(self.database) || self.database.as != self.database.name",fieldPath=".database",message="an existing database is never overwritten: as must be another name than name"
type GaleraRestoreSpec struct {
	// clusterRef is the GaleraCluster that the tables are loaded into. It is in this namespace.
	// +required
	ClusterRef RestoreClusterRef `json:"clusterRef"`
	// from is the backup, and the point in time after it, or another server.
	// +required
	From RestoreSource `json:"from"`
	// table is one table to restore.
	// +optional
	Table *RestoreTable `json:"table,omitempty"`
	// database is a database of which all tables are restored.
	// +optional
	Database *RestoreDatabase `json:"database,omitempty"`
}

// RestoreClusterRef names the cluster of a restore.
type RestoreClusterRef struct {
	// name of the GaleraCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
}

// RestoreSource is where a restore takes its data from.
//
// +kubebuilder:validation:XValidation:rule="(has(self.backup) ? 1 : 0) + (has(self.store) ? 1 : 0) + (has(self.external) ? 1 : 0) == 1",message="name exactly one of backup, store and external"
// +kubebuilder:validation:XValidation:rule="has(self.external) != has(self.identitySecretRef)",message="identitySecretRef is required for backup and store, and does not go with external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.pointInTime)",message="pointInTime does not go with external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || !has(self.rateLimit)",message="rateLimit is for a backup: set external.rateLimit"
type RestoreSource struct {
	// backup is a completed GaleraBackup in this namespace.
	// +optional
	Backup *LocalName `json:"backup,omitempty"`
	// store names a backup in a GaleraBackupStore of this namespace.
	// +optional
	Store *BootstrapStore `json:"store,omitempty"`
	// external is a running MariaDB server (10.5 or later) whose tables are copied as they are at one moment. It stays in
	// service: its commits wait for less than a second. What it writes later is not copied.
	// +optional
	External *RestoreExternal `json:"external,omitempty"`
	// identitySecretRef names a Secret in this namespace with the private key of one of the recipients (an age identity,
	// "AGE-SECRET-KEY-1…"). Only the restore's Jobs mount it, in containers of the operator's image. A Secret that belongs
	// to a cluster is refused. Required unless external is set.
	// +optional
	IdentitySecretRef SecretKey `json:"identitySecretRef,omitempty,omitzero"`
	// pointInTime continues from the backup to a later point in time, with the archive of the binary log that
	// spec.backup.pointInTime of the cluster made. Without backup.name and store.id the operator takes the latest backup
	// before that point. Default: none; the data are those of the backup.
	// +optional
	PointInTime *RestorePoint `json:"pointInTime,omitempty"`
	// rateLimit is the most that the Job reads of the backup from the store, in bytes per second, for instance 100Mi. At
	// least 1Mi. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="rateLimit must be at least 1Mi (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`
}

// DatabaseName is the name of a database that is no one's but a user's.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['mysql', 'sys', 'information_schema', 'performance_schema', 'lost+found', '*']) && !self.lowerAscii().startsWith('galera_operator') && !self.startsWith('#mysql50#')",message="this database is the server's or the operator's own: choose another name"
// +kubebuilder:validation:XValidation:rule="!self.endsWith(' ') && self.matches(r'^[^\\x00-\\x1f\\x7f\\x{10000}-\\x{10FFFF}]+$')",message="a name cannot end with a space, and cannot have control characters or characters beyond U+FFFF"
type DatabaseName string

// TableName is the name of a table.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="!self.endsWith(' ') && !self.startsWith('#') && self.matches(r'^[^\\x00-\\x1f\\x7f\\x{10000}-\\x{10FFFF}]+$')",message="a name cannot end with a space or start with '#', and cannot have control characters or characters beyond U+FFFF"
type TableName string

// RestoreTable is one table to restore.
type RestoreTable struct {
	// database of the table in the backup, or on the other server.
	// +required
	Database DatabaseName `json:"database"`
	// name of the table there.
	// +required
	Name TableName `json:"name"`
	// into is the database that gets the table. It must exist. Default: database.
	// +optional
	Into DatabaseName `json:"into,omitempty"`
	// as is the new name of the table. There must be no table or view of that name.
	// +required
	As TableName `json:"as"`
}

// RestoreDatabase is a database of which all tables are restored.
type RestoreDatabase struct {
	// name of the database in the backup, or on the other server.
	// +required
	Name DatabaseName `json:"name"`
	// as is the name of the new database. It must not exist.
	// +required
	As DatabaseName `json:"as"`
}

// Phases of a GaleraRestore.
const (
	RestorePending = "Pending"
	RestoreLoading = "Loading"
)

// GaleraRestoreStatus is a restore's progress and result.
type GaleraRestoreStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// phase is Pending (something is missing), Finding (the backup is looked for, or the other server is checked), Loading
	// (the backup is restored on a temporary volume, and loaded, or the other server is copied), Completed or Failed.
	// +optional
	// +kubebuilder:validation:Enum=Pending;Finding;Loading;Completed;Failed
	Phase string `json:"phase,omitempty"`
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
	// replay is how the archive continues from the backup.
	// +optional
	Replay *ReplayStatus `json:"replay,omitempty"`
	// external is what is known of the other server. Absent for a backup.
	// +optional
	External *RestoredServer `json:"external,omitempty"`
	// progress is how far the copy of the other server is: absent before, at its end, and for a backup. It stays, with its
	// observedAt, while the Job does not answer.
	// +optional
	Progress *CopyProgress `json:"progress,omitempty"`
	// attempts is the number of Jobs started.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// failures is the number of Jobs of this phase that failed, without those of outages. After five the restore is given
	// up.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// outages is how many Jobs in a row have ended because the store or the other server did not answer, or because that
	// server has what keeps its tables from being copied. It is tried again until it does not, after a pause that grows
	// with this number, up to five minutes.
	// +optional
	Outages int32 `json:"outages,omitempty"`
	// attemptedAt is when the last Job was started.
	// +optional
	AttemptedAt *metav1.Time `json:"attemptedAt,omitempty"`
	// tables is the number of tables that were loaded and compared.
	// +optional
	Tables int32 `json:"tables,omitempty"`
	// rows is the number of their rows.
	// +optional
	Rows int64 `json:"rows,omitempty"`
	// leftOut names what belongs to the tables and was not restored: triggers, foreign keys, views, routines, events and
	// sequences. At most 32.
	// +optional
	// +listType=atomic
	LeftOut []string `json:"leftOut,omitempty"`
	// startedAt is when the restore began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// completedAt is when the tables had their names.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// conditions are Complete, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TargetDatabase returns the database that gets the tables.
func (r *GaleraRestore) TargetDatabase() string {
	switch {
	case r.Spec.Database != nil:
		return string(r.Spec.Database.As)
	case r.Spec.Table.Into != "":
		return string(r.Spec.Table.Into)
	}
	return string(r.Spec.Table.Database)
}

// Ended reports whether nothing is left to do.
func (r *GaleraRestore) Ended() bool {
	return r.Status.Phase == RestoreCompleted || r.Status.Phase == RestoreFailed
}
