package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterBackup configures what the operator continuously copies from a cluster to a store.
type ClusterBackup struct {
	// storeRef names the GaleraBackupStore, in the cluster's namespace.
	// +required
	StoreRef LocalName `json:"storeRef"`
	// pointInTime archives the binary log, so that the cluster can be restored to any point in time after a backup
	// (spec.bootstrapFrom.pointInTime of the new cluster).
	// +optional
	PointInTime *PointInTime `json:"pointInTime,omitempty"`
}

// PointInTime archives the binary log.
//
// +kubebuilder:validation:XValidation:rule="!has(self.interval) || duration(self.interval) >= duration('1s') && duration(self.interval) <= duration('10m')",message="interval must be between 1s and 10m"
// +kubebuilder:validation:XValidation:rule="!has(self.writeLease) || !self.writeLease || has(self.enabled) && self.enabled",fieldPath=".writeLease",message="the lease is kept in the store of the archive: set enabled, too, or remove writeLease"
// +kubebuilder:validation:XValidation:rule="!has(self.window) || duration(self.window) >= duration('1h')",message="window must be at least 1h"
type PointInTime struct {
	// enabled has every node write a binary log with GTIDs, which restarts one node at a time, and a Deployment
	// NAME-archiver that follows it. A node keeps what was not archived yet for three days and in a tenth of its volume
	// (at least 128Mi; MariaDB 11.4 or later). Needs spec.tls.clients other than Disabled. A cluster that follows another
	// one needs spec.cutover, and is archived from when status.replication.role is Independent. Default: false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// interval is how often what was committed is stored: what a disaster may cost. 1s to 10m. Default: 10s.
	// +optional
	// +kubebuilder:default="10s"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// window is for how long every point in time stays in the store, as long as there are backups to begin with: what is
	// older is removed, except what the latest backup from before needs. At least 1h. Default: 720h.
	// +optional
	// +kubebuilder:default="720h"
	Window *metav1.Duration `json:"window,omitempty"`
	// writeLease has nodes accept writes only while two pods of the Deployment NAME-lease read in the store, every 5
	// seconds, that no other cluster has taken over (spec.replicaOf): WITHOUT THAT FOR 30 SECONDS, FOR INSTANCE BECAUSE
	// THE STORE CANNOT BE REACHED, ALL NODES REFUSE WRITES. A cluster that takes over accepts writes after that. It is
	// in force once status.writeLease is Held, until that is Ending: false counts once all nodes have heard of such a
	// reading again. The store cannot be a volume, or have singleWriter. Default: false.
	// +optional
	WriteLease bool `json:"writeLease,omitempty"`
}

// ArchivesBinlog reports whether the binary log is to be archived.
func (c *GaleraCluster) ArchivesBinlog() bool {
	return c.Spec.Backup != nil && c.Spec.Backup.PointInTime != nil && c.Spec.Backup.PointInTime.Enabled
}

// MaxNeeded bounds how many backups a status names that points in time need.
const MaxNeeded = 100

// EndedArchive is what points in time need of archives that were turned off.
type EndedArchive struct {
	// until is when the windows of all of them have passed.
	// +required
	Until metav1.Time `json:"until"`
	// window is the longest of these windows.
	// +required
	Window metav1.Duration `json:"window"`
	// needed are the backups that points in time of these windows need. Retention removes none of them until then.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=100
	Needed []NeededBackup `json:"needed,omitempty"`
	// unnamedUntil is until when points in time may need others, because there were more, or they were not known yet:
	// until then, retention removes no backup that an archive may continue from. Absent where all are named.
	// +optional
	UnnamedUntil *metav1.Time `json:"unnamedUntil,omitempty"`
}

// NeededBackup is a backup that points in time need.
type NeededBackup struct {
	// id of the backup.
	// +required
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id"`
	// until is when the window of the last archive that needs it has passed.
	// +required
	Until metav1.Time `json:"until"`
}

// ArchiveStatus is the state of the archive of the binary log.
type ArchiveStatus struct {
	// archivedThrough is a point in time: the store holds everything that was committed before it.
	// +optional
	ArchivedThrough *metav1.Time `json:"archivedThrough,omitempty"`
	// archivedGTID is the last transaction in the store.
	// +optional
	ArchivedGTID string `json:"archivedGTID,omitempty"`
	// lag is how far archivedThrough was behind the present at the archiver's last answer.
	// +optional
	Lag *metav1.Duration `json:"lag,omitempty"`
	// recoverableFrom is the earliest point in time that can be restored: that of the first backup which the archive
	// continues without a gap.
	// +optional
	RecoverableFrom *metav1.Time `json:"recoverableFrom,omitempty"`
	// base is the id of that backup.
	// +optional
	Base string `json:"base,omitempty"`
	// needed are the ids of the backups that points in time of the window need, one of each chain of the archive, also of
	// those that have ended. Retention removes none of them. At most 100, those of the latest chains: while there are so
	// many, or none is known yet, retention removes no backup that the archive may continue from.
	// +optional
	// +listType=atomic
	Needed []string `json:"needed,omitempty"`
	// store is where the archive lies that this is about. Where spec.backup leads elsewhere, the archive begins there, and
	// what points in time of the former one need goes to status.endedArchive.
	// +optional
	Store *StoreLocation `json:"store,omitempty"`
	// emptyAt is when the store was last seen to have no segment of the archive, in steps of ten minutes: no point in time
	// needs a backup that was complete before.
	// +optional
	EmptyAt *metav1.Time `json:"emptyAt,omitempty"`
	// window is for how long every point in time stays in the store: spec.backup.pointInTime.window, or keepWithin of the
	// store's retention if that is longer. What is archived keeps it when point in time is turned off.
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`
	// node that the archiver follows.
	// +optional
	Node string `json:"node,omitempty"`
	// segments is the number of segments stored since the archive was created.
	// +optional
	Segments int64 `json:"segments,omitempty"`
	// storedSize is the size of the segments that are in the store.
	// +optional
	StoredSize *resource.Quantity `json:"storedSize,omitempty"`
	// session is the time for which the archive has been enabled without a break. A later one begins a new chain.
	// +optional
	Session string `json:"session,omitempty"`
	// chain is the number of the segment from which on nothing is missing.
	// +optional
	Chain int64 `json:"chain,omitempty"`
	// gap is why no backup leads to what is archived now, though there was an archive before. Empty once a later backup
	// makes up for it.
	// +optional
	Gap string `json:"gap,omitempty"`
	// alignedAt is when the nodes, which had numbered transactions differently, were last given one number. They get
	// another one an hour later at the earliest.
	// +optional
	AlignedAt *metav1.Time `json:"alignedAt,omitempty"`
	// reason of the message, one of the reasons of the condition PointInTimeRecoverable.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message describes what is wrong, or what the archiver waits for.
	// +optional
	Message string `json:"message,omitempty"`
}
