package taking

import (
	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

// Base reports whether a backup is the one of an ID that a tested one adds to, in the store of the test.
func Base(f Facts, id string, b *v1alpha1.GaleraBackup) bool {
	return id != "" && b.UID != f.Backup.UID && b.Status.ID == id && b.Status.Phase == v1alpha1.BackupCompleted &&
		b.Status.Directory == f.Backup.Status.Directory && b.Spec.StoreRef == f.Backup.Spec.StoreRef &&
		f.Store != nil && location.Changed(b.Status.Store, f.Store) == ""
}

// FoundDamaged holds against a backup what the test of an increment of it has found: retention and the archive do not
// count it from now on. It is disproved as what a test of its own has found.
func FoundDamaged(to *v1alpha1.GaleraBackupStatus, b *v1alpha1.GaleraBackup, by Facts) {
	if to.Verification == nil {
		to.Verification = &v1alpha1.BackupVerification{Method: v1alpha1.VerifyNone}
	}
	v, found := to.Verification, by.Backup.Status.Verification.Method
	if v.Phase != v1alpha1.VerifyRunning { // a test that is at work ends by itself
		v.Phase = v1alpha1.VerifyFailed
	}
	if v.DamagedBy == v1alpha1.VerifyRestore {
		found = v.DamagedBy
	}
	setVerified(to, Facts{Backup: b}, false, v1alpha1.ReasonBackupDamaged, "the test of the backup "+by.Backup.Name+
		", which adds to it, has found it damaged: "+by.Job.Result.Error+". To test it itself, set verify to "+found+
		", or to None and back")
	v.DamagedBy = found // not by the method of its own last test
}
