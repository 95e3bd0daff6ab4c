// Package archival decides what is reported about the archive of a cluster's binary log, and which backup is asked for
// so that the archive leads from it to any point in time. It is pure: controllers/galeracluster/archiving gathers the
// facts and acts.
package archival

import (
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Facts are what a pass decides from.
type Facts struct {
	Cluster  *v1alpha1.GaleraCluster
	Problem  Problem // what keeps the archiver from running
	Archived *task.Archived
	Silent   string                      // why it does not answer
	NoLease  string                      // why there is no lease, though one is wanted
	Store    *v1alpha1.GaleraBackupStore // nil while it is not known
	Backups  []v1alpha1.GaleraBackup     // of the namespace: they are shared with the cache, and only read
	Now      time.Time
	Today    time.Time // the earliest of the clocks that are known, the zero time for Now
	Ends     []End     // of all nodes
	Alike    time.Time // since when these are as they are now, the zero time where that is not known
}

// Problem keeps the archiver from running.
type Problem struct{ Reason, Message string }
