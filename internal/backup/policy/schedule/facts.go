// Package schedule decides when a GaleraBackupSchedule makes a backup, in its time zone, and which backups the store's
// retention removes. It is pure: controllers/galerabackupschedule gathers the facts and acts.
package schedule

import (
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Facts are what a pass decides from.
type Facts struct {
	Schedule *v1alpha1.GaleraBackupSchedule
	Backups  []v1alpha1.GaleraBackup     // of the namespace
	Store    *v1alpha1.GaleraBackupStore // nil when there is none
	Cluster  *v1alpha1.GaleraCluster     // nil when there is none
	// Window is for how long an archive of the cluster in the store keeps every point in time.
	Window time.Duration
	Now    time.Time
	// Today is the earliest that the clocks show which the operator knows, zero for Now: backups grow old by it.
	Today time.Time
}
