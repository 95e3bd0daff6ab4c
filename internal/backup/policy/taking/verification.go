package taking

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/status"
)

// maxVerifyFailures is after how many failures in a row a test is given up; what a test finds in the backup itself is
// final at once.
const maxVerifyFailures = 5

// DecideVerification brings status.verification a step further. It is pure.
func DecideVerification(to *v1alpha1.GaleraBackupStatus, f Facts) Decision {
	b := f.Backup
	v := to.Verification
	switch {
	case v == nil || v.Method != b.Spec.Verify:
		if b.Spec.Verify == v1alpha1.VerifyNone || b.Spec.Verify == "" {
			stop(to, f)
			return Decision{}
		}
		next := &v1alpha1.BackupVerification{Method: b.Spec.Verify, Phase: v1alpha1.VerifyRunning, Attempts: 1,
			AttemptedAt: new(metav1.NewTime(f.Now))}
		if v != nil {
			next.Attempts, next.DamagedBy = v.Attempts+1, v.DamagedBy // the Job before may still be there
		}
		to.Verification = next
		setVerified(to, f, false, v1alpha1.ReasonVerifying, "the backup is being tested")
		return Decision{RequeueAfter: time.Second}
	case v.Phase != v1alpha1.VerifyRunning:
		return Decision{}
	case f.Job.Done && f.Job.Result.Error == "" && f.Job.Result.Verified != nil && f.Job.Result.Verified.ID != b.Status.ID:
		f.Job.Result.Error = fmt.Sprintf("the Job has tested the backup %q", f.Job.Result.Verified.ID)
		return verificationFailed(to, f)
	case f.Job.Done && f.Job.Result.Error == "" && f.Job.Result.Verified != nil:
		passed(to, f, f.Job.Result)
		return Decision{RequeueAfter: time.Second}
	case f.Job.Done:
		return verificationFailed(to, f)
	}
	if reason, message := verificationBlockingReason(f); reason != "" {
		setVerified(to, f, false, reason, message)
		return Decision{RequeueAfter: PollInterval}
	}
	if wait := pause(v.Failures, v.AttemptedAt, f.Now); !f.Job.Exists && wait > 0 {
		return Decision{RequeueAfter: wait}
	}
	if f.Job.Waits != "" {
		setVerified(to, f, false, v1alpha1.ReasonVerifying, f.Job.Waits)
	}
	return Decision{Run: true, RequeueAfter: PollInterval}
}

// stop ends a test that is not asked for any more. What one has found stays reported.
func stop(to *v1alpha1.GaleraBackupStatus, f Facts) {
	v := to.Verification
	if v == nil {
		return
	}
	v.Method = v1alpha1.VerifyNone
	if v.Phase == v1alpha1.VerifyRunning {
		v.Phase = v1alpha1.VerifyFailed
		setVerified(to, f, false, v1alpha1.ReasonVerifying, "the test was stopped: verify is None")
	}
}

func verificationBlockingReason(f Facts) (reason, message string) {
	switch {
	case f.Store == nil:
		return v1alpha1.ReasonStoreNotFound, fmt.Sprintf(
			"there is no GaleraBackupStore %q in this namespace: create it, or set verify to None", f.Backup.Spec.StoreRef.Name)
	case location.Changed(f.Backup.Status.Store, f.Store) != "":
		return v1alpha1.ReasonStoreChanged, location.Changed(f.Backup.Status.Store, f.Store) + ": point the store back, or " +
			"set verify to None, and import the backup again if the store has it"
	case f.Identity != "":
		return v1alpha1.ReasonWrongKey, f.Identity
	case f.Cluster == nil && f.Backup.Status.Verification.Method == v1alpha1.VerifyRestore:
		return v1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"there is no GaleraCluster %q in this namespace, whose image and volumes the test uses: create it, or set verify "+
				"to Checksum or None", f.Backup.Spec.ClusterRef.Name)
	}
	return status.StoreProblem(f.Store)
}

// disproves reports whether a test that the backup has passed shows that it is not damaged. What a restore has found,
// only a restore can disprove: bytes that are as they were written may be a copy that no server starts on.
func disproves(v *v1alpha1.BackupVerification) bool {
	return v.DamagedBy != v1alpha1.VerifyRestore || v.Method == v1alpha1.VerifyRestore
}

// passed takes in a test without a finding.
func passed(to *v1alpha1.GaleraBackupStatus, f Facts, r task.Result) {
	v := to.Verification
	if !disproves(v) {
		v.Phase, v.Failures = v1alpha1.VerifyFailed, 0
		setVerified(to, f, false, v1alpha1.ReasonBackupDamaged, "all of it is as it was written, but a restore has found it "+
			"damaged, which this test cannot disprove: set verify to Restore")
		return
	}
	if to.Store == nil { // an earlier release has made the backup, and it was seen there
		to.Store = f.Job.Location
	}
	v.DamagedBy = ""
	v.Phase, v.VerifiedAt, v.Failures = v1alpha1.VerifySucceeded, new(metav1.NewTime(f.Now)), 0
	v.Tables = int32(min(r.Verified.Tables, 1<<30)) //nolint:gosec // bounded
	v.Took = &metav1.Duration{Duration: time.Duration(r.TookSeconds * float64(time.Second)).Round(time.Millisecond)}
	message := fmt.Sprintf("all of it was read and is as it was written (%s)", v.Took.Duration)
	if v.Method == v1alpha1.VerifyRestore {
		message = fmt.Sprintf("it was restored, and %d tables were checked and are good (%s)", v.Tables, v.Took.Duration)
	}
	if n := r.Verified.Segments; n > 0 {
		message += "; the archive was read without a gap: " + galera.Count(n, "segment")
	}
	setVerified(to, f, true, v1alpha1.ReasonVerified, message)
}

func verificationFailed(to *v1alpha1.GaleraBackupStatus, f Facts) Decision {
	v, r := to.Verification, f.Job.Result
	v.Failures++
	reason := r.Reason
	if reason == "" {
		reason = v1alpha1.ReasonVerificationFailed
	}
	if reason == v1alpha1.ReasonArchiveDamaged { // the archive is read once the backup itself has passed
		good := "the backup itself is good"
		if !disproves(v) {
			good = "all of the backup is as it was written, but a restore has found it damaged, which this test cannot " +
				"disprove (set verify to Restore)"
		} else {
			v.DamagedBy = ""
		}
		r.Error = good + ", and the archive of the binary log is damaged: " + r.Error +
			". Points in time from that segment on need a later backup: make another one"
	}
	if r.Fatal || v.Failures >= maxVerifyFailures {
		v.Phase = v1alpha1.VerifyFailed
		d := Decision{RequeueAfter: time.Second}
		if reason == v1alpha1.ReasonBackupDamaged && r.Damaged != to.ID {
			d.Damaged = r.Damaged
		}
		setVerified(to, f, false, reason, "the test has failed: "+r.Error+". To test it again, set verify to None and back")
		return d
	}
	v.Attempts++
	v.AttemptedAt = new(metav1.NewTime(f.Now))
	setVerified(to, f, false, reason, "the test has failed and is made again: "+r.Error)
	return Decision{RequeueAfter: time.Second}
}

// setVerified leaves Complete as it is: the backup is in the store, whatever the test says. One that was found damaged
// stays so while it is tested again: the archive must not rely on it meanwhile, and remove what is before it.
func setVerified(to *v1alpha1.GaleraBackupStatus, f Facts, is bool, reason, message string) {
	g := f.Backup.Generation
	to.ObservedGeneration = g
	found := reason
	good := reason == v1alpha1.ReasonArchiveDamaged && disproves(to.Verification)
	if before := (&v1alpha1.GaleraBackup{Status: *to}); !is && !good && before.Damaged() &&
		reason != v1alpha1.ReasonBackupDamaged {
		found, message = v1alpha1.ReasonBackupDamaged, "a test before has found the backup damaged; since then: "+message
	}
	status.SetCondition(&to.Conditions, g, v1alpha1.ConditionVerified, is, found, message)
	running := to.Verification.Phase == v1alpha1.VerifyRunning
	if v := to.Verification; !is && reason == v1alpha1.ReasonBackupDamaged && v.DamagedBy != v1alpha1.VerifyRestore {
		v.DamagedBy = v.Method
	}
	stalled := !is && reason != v1alpha1.ReasonVerifying
	status.SetProgress(&to.Conditions, g, status.Progress{Working: running, Stalled: stalled, Reason: reason,
		Message: message})
}
