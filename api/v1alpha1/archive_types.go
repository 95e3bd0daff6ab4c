package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterBackup is what is kept of a cluster outside of it all the time.
type ClusterBackup struct {
	// storeRef names the GaleraBackupStore in the cluster's namespace.
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
type PointInTime struct {
	// enabled has every node write a binary log with GTIDs, which restarts one node at a time, and a Deployment NAME-archiver that follows it. A
	// node keeps what was not archived yet for three days and in a tenth of its volume (at least 128Mi; MariaDB 11.4 or later). Needs
	// spec.tls.clients other than Disabled. Default: false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// interval is how often what was committed is stored: what a disaster may cost. 1s to 10m. Default: 10s.
	// +optional
	// +kubebuilder:default="10s"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// ArchivesBinlog says that the binary log is to be archived.
func (c *GaleraCluster) ArchivesBinlog() bool {
	return c.Spec.Backup != nil && c.Spec.Backup.PointInTime != nil && c.Spec.Backup.PointInTime.Enabled
}

// ArchiveStatus is how far the archive of the binary log is.
type ArchiveStatus struct {
	// archivedThrough is a time until which everything that was committed is in the store.
	// +optional
	ArchivedThrough *metav1.Time `json:"archivedThrough,omitempty"`
	// archivedGTID is the last transaction in the store.
	// +optional
	ArchivedGTID string `json:"archivedGTID,omitempty"`
	// lag is how far archivedThrough is behind, when the archiver was asked last.
	// +optional
	Lag *metav1.Duration `json:"lag,omitempty"`
	// recoverableFrom is the earliest point in time that can be restored: the first backup that the archive goes on from without a gap.
	// +optional
	RecoverableFrom *metav1.Time `json:"recoverableFrom,omitempty"`
	// base is the id of that backup.
	// +optional
	Base string `json:"base,omitempty"`
	// node is the one that is followed.
	// +optional
	Node string `json:"node,omitempty"`
	// segments is how many were stored since the archive exists.
	// +optional
	Segments int64 `json:"segments,omitempty"`
	// chain is the number of the segment that the archive has begun with, or begun anew after a gap.
	// +optional
	Chain int64 `json:"chain,omitempty"`
	// gap says why it has begun anew, until a backup makes up for it.
	// +optional
	Gap string `json:"gap,omitempty"`
	// reason of the message, one of the reasons of the condition PointInTimeRecoverable.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says what is wrong, or waited for.
	// +optional
	Message string `json:"message,omitempty"`
}
