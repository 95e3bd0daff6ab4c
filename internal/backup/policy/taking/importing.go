package taking

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/status"
)

// DecideImport brings the status of a backup that is imported a step further: no node is read, and nothing is stored.
// It is pure.
func DecideImport(to *v1alpha1.GaleraBackupStatus, f Facts) Decision {
	to.ObservedGeneration = f.Backup.Generation
	if to.Phase == v1alpha1.BackupRunning {
		return importing(to, f)
	}
	to.Phase = v1alpha1.BackupPending
	if reason, message := importBlockingReason(f); reason != "" {
		setConditions(to, f, reason, message, reason == v1alpha1.ReasonStoreNotFound)
		return Decision{RequeueAfter: PollInterval}
	}
	if wait := pause(to.Attempts, to.AttemptedAt, f.Now); wait > 0 { // the conditions explain why the last attempt failed
		return Decision{RequeueAfter: wait}
	}
	to.Phase, to.Attempts, to.AttemptedAt = v1alpha1.BackupRunning, to.Attempts+1, new(metav1.NewTime(f.Now))
	setConditions(to, f, v1alpha1.ReasonBackupRunning, "reading the manifest of the backup "+f.Backup.Spec.Import.ID,
		false)
	return Decision{RequeueAfter: time.Second}
}

func importBlockingReason(f Facts) (reason, message string) {
	if f.Store == nil {
		return v1alpha1.ReasonStoreNotFound, fmt.Sprintf(
			"there is no GaleraBackupStore %q in this namespace: create it, or delete this backup", f.Backup.Spec.StoreRef.Name)
	}
	return status.StoreProblem(f.Store)
}

// importing follows an attempt.
func importing(to *v1alpha1.GaleraBackupStatus, f Facts) Decision {
	of, r := f.Backup.Spec.Import, f.Job.Result
	if f.Job.Location != nil {
		to.Store = f.Job.Location
	}
	switch {
	case f.Job.Done && r.Error == "" && r.Backup != nil && r.Backup.ID == of.ID && r.Backup.Dir == of.Directory:
		to.ID, to.Directory, to.ClusterUID, to.Recipients = of.ID, of.Directory, r.Backup.ClusterUID, r.Backup.Recipients
		complete(to, f, *r.Backup)
		return Decision{}
	case f.Job.Done && r.Error == "":
		importFailed(to, f, task.Result{Error: "the Job has read another backup"})
		return Decision{RequeueAfter: time.Second}
	case f.Job.Done:
		importFailed(to, f, r)
		return Decision{RequeueAfter: time.Second}
	}
	if reason, message := importBlockingReason(f); reason != "" && !f.Job.Exists {
		setConditions(to, f, reason, message, reason == v1alpha1.ReasonStoreNotFound)
		return Decision{RequeueAfter: PollInterval}
	}
	if f.Job.Waits != "" {
		setConditions(to, f, v1alpha1.ReasonBackupRunning, f.Job.Waits, false)
	}
	return Decision{Run: true, RequeueAfter: PollInterval}
}

// importFailed ends an attempt, and the import if another one makes no sense.
func importFailed(to *v1alpha1.GaleraBackupStatus, f Facts, r task.Result) {
	reason := r.Reason
	if reason == "" {
		reason = v1alpha1.ReasonBackupFailed
	}
	if r.Fatal || last(to, f, reason) {
		to.Phase = v1alpha1.BackupFailed
		setConditions(to, f, reason, fmt.Sprintf("the backup %s/%s cannot be imported: %s. Nothing in the store was "+
			"changed: delete this object, and create another one", f.Backup.Spec.Import.Directory, f.Backup.Spec.Import.ID,
			r.Error),
			true)
		return
	}
	to.Phase = v1alpha1.BackupPending
	setConditions(to, f, reason, fmt.Sprintf("attempt %d has failed and is made again: %s", to.Attempts, r.Error), false)
}
