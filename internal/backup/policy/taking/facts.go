// Package taking decides about a GaleraBackup: when an attempt begins, which node is read, what an ended attempt means,
// and what a test of the stored copy has shown. It is pure: controllers/galerabackup gathers the facts and acts.
package taking

import (
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// PollInterval is how often a pass is made while waiting for something that sends no event; an admission lasts longer
// (agentapi.BackupAdmitted).
const PollInterval = 5 * time.Second

// Facts are what one pass decides from.
type Facts struct {
	Backup  *v1alpha1.GaleraBackup
	Cluster *v1alpha1.GaleraCluster     // nil when there is none
	Store   *v1alpha1.GaleraBackupStore // nil when there is none
	// Clone is the cluster that the backup is made for, nil where none asks for it.
	Clone *v1alpha1.GaleraCluster
	// Other is a backup of the same cluster that runs, "" for none.
	Other string
	// Backups are those of the namespace, where one of them may be the base of an increment.
	Backups []v1alpha1.GaleraBackup
	Agents  map[string]observe.Seen
	Job     outcome.Outcome // of the last attempt
	// Identity is what is wrong with the Secret of a test's private key, "" for nothing.
	Identity string
	Now      time.Time
}
