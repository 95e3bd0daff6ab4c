package galerabackup

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/status"
)

// maxVerifyFailures is after how many failures in a row a test is given up; what a test finds in the backup itself is
// final at once.
const maxVerifyFailures = 5

// verify brings the test of a complete backup a step further.
func (r *Reconciler) verify(ctx context.Context, b *v1alpha1.GaleraBackup) (time.Duration, error) {
	f, err := r.observeVerification(ctx, b)
	if err != nil {
		return 0, err
	}
	next := b.DeepCopy()
	d := decideVerification(&next.Status, f)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if !equality.Semantic.DeepEqual(b.Status, next.Status) {
		err := r.Status().Update(ctx, next) // the intent first
		if err == nil {
			r.announceVerification(b, next)
		}
		return d.requeueAfter, err
	}
	switch {
	case d.run && !f.job.Exists:
		return d.requeueAfter, r.runVerification(ctx, f)
	case !d.run && f.job.Exists:
		// The Job goes at once, and the volume with it.
		old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.VerifyName(b)}}
		return d.requeueAfter, apply.Remove(ctx, r.Client, r.Live, b.UID, old,
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	return d.requeueAfter, nil
}

func (r *Reconciler) observeVerification(ctx context.Context, b *v1alpha1.GaleraBackup) (facts, error) {
	f := facts{backup: b, now: r.Now()}
	var err error
	if f.store, err = storeOf(ctx, r.Client, b); err != nil {
		return f, err
	}
	cluster := &v1alpha1.GaleraCluster{}
	err = r.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.ClusterRef.Name}, cluster)
	if err == nil {
		f.cluster = cluster
	} else if !apierrors.IsNotFound(err) {
		return f, err
	}
	if f.identity, err = r.identity(ctx, b); err != nil {
		return f, err
	}
	f.job, err = outcome.Of(ctx, r.Client, b, job.VerifyName(b), f.now)
	return f, err
}

// identity is what is wrong with the Secret of the private key, "" for nothing. Its Job runs the cluster's image, which
// must not get a Secret of a cluster.
func (r *Reconciler) identity(ctx context.Context, b *v1alpha1.GaleraBackup) (string, error) {
	ref := b.Spec.IdentitySecretRef
	if ref == nil || b.Spec.Verify != v1alpha1.VerifyRestore {
		return "", nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: ref.Name}, secret)
	switch of := secret.Labels[v1alpha1.LabelCluster]; {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("spec.identitySecretRef names the Secret %q, which does not exist: create it", ref.Name), nil
	case err == nil && of != "":
		return fmt.Sprintf(
			"the Secret %q belongs to the cluster %q: create a GaleraBackup that names one with the private key",
			ref.Name, of), nil
	}
	return "", err
}

// decideVerification brings status.verification a step further. It is pure.
func decideVerification(to *v1alpha1.GaleraBackupStatus, f facts) decision {
	b := f.backup
	v := to.Verification
	switch {
	case v == nil || v.Method != b.Spec.Verify:
		if b.Spec.Verify == v1alpha1.VerifyNone || b.Spec.Verify == "" {
			stop(to, f)
			return decision{}
		}
		next := &v1alpha1.BackupVerification{Method: b.Spec.Verify, Phase: v1alpha1.VerifyRunning, Attempts: 1,
			AttemptedAt: new(metav1.NewTime(f.now))}
		if v != nil {
			next.Attempts, next.DamagedBy = v.Attempts+1, v.DamagedBy // the Job before may still be there
		}
		to.Verification = next
		setVerified(to, f, false, v1alpha1.ReasonVerifying, "the backup is being tested")
		return decision{requeueAfter: time.Second}
	case v.Phase != v1alpha1.VerifyRunning:
		return decision{}
	case f.job.Done && f.job.Result.Error == "" && f.job.Result.Verified != nil && f.job.Result.Verified.ID != b.Status.ID:
		f.job.Result.Error = fmt.Sprintf("the Job has tested the backup %q", f.job.Result.Verified.ID)
		return verificationFailed(to, f)
	case f.job.Done && f.job.Result.Error == "" && f.job.Result.Verified != nil:
		passed(to, f, f.job.Result)
		return decision{requeueAfter: time.Second}
	case f.job.Done:
		return verificationFailed(to, f)
	}
	if reason, message := verificationBlockingReason(f); reason != "" {
		setVerified(to, f, false, reason, message)
		return decision{requeueAfter: whileWaiting}
	}
	if wait := verificationPause(v, f.now); !f.job.Exists && wait > 0 {
		return decision{requeueAfter: wait}
	}
	if f.job.Waits != "" {
		setVerified(to, f, false, v1alpha1.ReasonVerifying, f.job.Waits)
	}
	return decision{run: true, requeueAfter: whileWaiting}
}

// stop ends a test that is not asked for any more. What one has found stays reported.
func stop(to *v1alpha1.GaleraBackupStatus, f facts) {
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

func verificationPause(v *v1alpha1.BackupVerification, now time.Time) time.Duration {
	if v.Failures == 0 || v.AttemptedAt == nil {
		return 0
	}
	return min(attemptFirst<<min(v.Failures-1, 10), attemptPause) - now.Sub(v.AttemptedAt.Time)
}

func verificationBlockingReason(f facts) (reason, message string) {
	switch {
	case f.store == nil:
		return v1alpha1.ReasonStoreNotFound, fmt.Sprintf(
			"there is no GaleraBackupStore %q in this namespace: create it, or set verify to None", f.backup.Spec.StoreRef.Name)
	case f.identity != "":
		return v1alpha1.ReasonWrongKey, f.identity
	case f.cluster == nil && f.backup.Status.Verification.Method == v1alpha1.VerifyRestore:
		return v1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"there is no GaleraCluster %q in this namespace, whose image and volumes the test uses: create it, or set verify "+
				"to Checksum or None", f.backup.Spec.ClusterRef.Name)
	}
	return status.StoreProblem(f.store)
}

// passed takes in a test without a finding. What a restore has found, only a restore can disprove: bytes that are as
// they were written may be a copy that no server starts on.
func passed(to *v1alpha1.GaleraBackupStatus, f facts, r task.Result) {
	v := to.Verification
	if v.DamagedBy == v1alpha1.VerifyRestore && v.Method != v1alpha1.VerifyRestore {
		v.Phase, v.Failures = v1alpha1.VerifyFailed, 0
		setVerified(to, f, false, v1alpha1.ReasonBackupDamaged, "all of it is as it was written, but a restore has found it "+
			"damaged, which this test cannot disprove: set verify to Restore")
		return
	}
	v.DamagedBy = ""
	v.Phase, v.VerifiedAt, v.Failures = v1alpha1.VerifySucceeded, new(metav1.NewTime(f.now)), 0
	v.Tables = int32(min(r.Verified.Tables, 1<<30)) //nolint:gosec // bounded
	v.Took = &metav1.Duration{Duration: time.Duration(r.TookSeconds * float64(time.Second)).Round(time.Millisecond)}
	message := fmt.Sprintf("all of it was read and is as it was written (%s)", v.Took.Duration)
	if v.Method == v1alpha1.VerifyRestore {
		message = fmt.Sprintf("it was restored, and %d tables were checked and are good (%s)", v.Tables, v.Took.Duration)
	}
	if n := r.Verified.Segments; n > 0 {
		message += fmt.Sprintf("; %d segments of the archive were read, and follow each other", n)
	}
	setVerified(to, f, true, v1alpha1.ReasonVerified, message)
}

func verificationFailed(to *v1alpha1.GaleraBackupStatus, f facts) decision {
	v, r := to.Verification, f.job.Result
	v.Failures++
	reason := r.Reason
	if reason == "" {
		reason = v1alpha1.ReasonVerifyFailed
	}
	if reason == v1alpha1.ReasonArchiveDamaged {
		r.Error = "the backup itself is good, and the archive of the binary log is damaged: " + r.Error +
			". Points in time " +
			"from that segment on need a later backup: make another one"
	}
	if r.Fatal || v.Failures >= maxVerifyFailures {
		v.Phase = v1alpha1.VerifyFailed
		setVerified(to, f, false, reason, "the test has failed: "+r.Error+". To test it again, set verify to None and back")
		return decision{requeueAfter: time.Second}
	}
	v.Attempts++
	v.AttemptedAt = new(metav1.NewTime(f.now))
	setVerified(to, f, false, reason, "the test has failed and is made again: "+r.Error)
	return decision{requeueAfter: time.Second}
}

// setVerified leaves Complete as it is: the backup is in the store, whatever the test says. One that was found damaged
// stays so while it is tested again: the archive must not rely on it meanwhile, and remove what is before it.
func setVerified(to *v1alpha1.GaleraBackupStatus, f facts, is bool, reason, message string) {
	g := f.backup.Generation
	to.ObservedGeneration = g
	found := reason
	if before := (&v1alpha1.GaleraBackup{Status: *to}); !is && before.Damaged() && reason != v1alpha1.ReasonBackupDamaged {
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

// runVerification has the Job of the present test there.
func (r *Reconciler) runVerification(ctx context.Context, f facts) error {
	b := f.backup
	t := task.Verify{Dir: b.Status.Directory, ID: b.Status.ID, Checksum: b.Status.Checksum,
		Restore: b.Status.Verification.Method == v1alpha1.VerifyRestore}
	if t.Restore {
		t.History = uuid.NewSHA1(uuid.NameSpaceOID, []byte(b.UID)).String()
	}
	j, err := job.Verify(b, f.store, f.cluster, t, r.Options, r.Jobs)
	if err != nil {
		return err
	}
	return apply.Keep(ctx, r.Client, r.Live, b.UID, j)
}
