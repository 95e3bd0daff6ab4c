// Package restoration decides how a new cluster begins with a backup, or with a copy of a living cluster: which backup,
// which volumes are filled, what an ended Job means, and which Jobs go. It is pure, and a model runs it
// (model_test.go): controllers/galeracluster/restoring gathers the facts and acts.
package restoration

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const whileWaiting = 5 * time.Second

// histories is the name space of the histories that restores begin: one backup, restored into one cluster, always
// begins the same one.
var histories = uuid.MustParse("8f0f7c8e-9a0e-4a55-9c39-3f6a8f8a2d11")

// Facts are what a pass decides from.
type Facts struct {
	Cluster *v1alpha1.GaleraCluster
	// Source is where the backup lies.
	Source Source
	// Blocker is why that is not known, or why the restore cannot go on; the zero value for nothing.
	Blocker Problem
	// Clone is what a clone does before it has a backup; the zero value for other sources.
	Clone   Step
	Find    outcome.Outcome
	Members []outcome.Outcome // by ordinal
	Copied  *task.Copied      // how far the Job is that copies another server; nil while it has not answered
	Busy    map[string]bool   // members whose volume an earlier Job may still fill
	Now     time.Time
}

// Source is where a restore takes its backup from.
type Source struct {
	Store *v1alpha1.GaleraBackupStore
	Find  task.Find
	// Known are the GaleraBackups that are complete, and lie in the store.
	Known []v1alpha1.GaleraBackup
}

// Exchanged reports why a backup that was found is none of those on record under its ID, "" when it is, or when it has
// no record.
func (s Source) Exchanged(found *task.Stored) (why string) {
	for i := range s.Known {
		b := &s.Known[i]
		of := b.Status
		switch {
		case found == nil || of.ID != found.ID || of.Directory != found.Dir || of.Checksum == "" || found.Checksum == "":
		case of.Checksum == found.Checksum:
			return "" // it may have been imported again
		default:
			why = fmt.Sprintf("the manifest of the backup %s in the store is another one than the GaleraBackup %s has on "+
				"record: its SHA-256 is %s, and was %s. Put the object back that was written; if you have exchanged it yourself, "+
				"import the backup again", of.ID, b.Name, found.Checksum, of.Checksum)
		}
	}
	return why
}

// Problem keeps a restore from going on.
type Problem struct{ Reason, Message string }

// Moved is the problem that a store names another location than the one where a backup lies. The remedy is what else
// can be done than to point the store back.
func Moved(of *v1alpha1.StoreLocation, s *v1alpha1.GaleraBackupStore, remedy string) Problem {
	if why := location.Changed(of, s); why != "" {
		return Problem{v1alpha1.ReasonStoreChanged,
			"the backup cannot be read: " + why + ". Point the store back, or " + remedy}
	}
	return Problem{}
}

// history is the UUID of the history that a cluster begins from a backup, and a point in time after it.
func history(c *v1alpha1.GaleraCluster, id string, replay *v1alpha1.ReplayStatus) string {
	name := string(c.UID) + "/" + id
	if replay != nil {
		name += fmt.Sprintf("/%s/%d-%d", replay.Target, replay.From, replay.To)
	}
	return uuid.NewSHA1(histories, []byte(name)).String()
}
