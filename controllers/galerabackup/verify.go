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
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// verify brings the test of a complete backup a step further.
func (r *Reconciler) verify(ctx context.Context, b *v1alpha1.GaleraBackup) (time.Duration, error) {
	f, err := r.observeVerification(ctx, b)
	if err != nil {
		return 0, err
	}
	next := b.DeepCopy()
	d := taking.DecideVerification(&next.Status, f)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if !equality.Semantic.DeepEqual(b.Status, next.Status) {
		if err := holdAgainst(ctx, r, f, d.Damaged); err != nil {
			return 0, err
		}
		err := r.Status().Update(ctx, next) // the intent first
		if err == nil {
			r.announceVerification(b, next)
		}
		return d.RequeueAfter, err
	}
	switch {
	case d.Run && !f.Job.Exists:
		return d.RequeueAfter, r.runVerification(ctx, f)
	case !d.Run && f.Job.Exists:
		// The Job goes at once, and the volume with it.
		old := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.VerifyName(b)}}
		return d.RequeueAfter, ownership.Remove(ctx, r.Client, r.Live, b.UID, old,
			client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	return d.RequeueAfter, nil
}

// holdAgainst records what a test has found in a backup that the tested one adds to. The Job names it, which runs the
// cluster's image: nothing is held against any other backup.
func holdAgainst(ctx context.Context, r *Reconciler, f taking.Facts, id string) error {
	var all v1alpha1.GaleraBackupList
	if id == "" {
		return nil
	}
	if err := r.Live.List(ctx, &all, client.InNamespace(f.Backup.Namespace)); err != nil {
		return err
	}
	if !increments.AddsTo(all.Items, f.Backup, id) {
		return nil
	}
	for i := range all.Items {
		b := &all.Items[i]
		if !taking.Base(f, id, b) {
			continue
		}
		next := b.DeepCopy()
		taking.FoundDamaged(&next.Status, b, f)
		if equality.Semantic.DeepEqual(b.Status, next.Status) {
			continue
		}
		if err := r.Status().Update(ctx, next); err != nil {
			return err
		}
		r.announceVerification(b, next)
	}
	return nil
}

func (r *Reconciler) observeVerification(ctx context.Context, b *v1alpha1.GaleraBackup) (taking.Facts, error) {
	f := taking.Facts{Backup: b, Now: r.Now()}
	var err error
	if f.Store, err = storeOf(ctx, r.Client, b); err != nil {
		return f, err
	}
	cluster := &v1alpha1.GaleraCluster{}
	err = r.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Spec.ClusterRef.Name}, cluster)
	if err == nil {
		f.Cluster = cluster
	} else if !apierrors.IsNotFound(err) {
		return f, err
	}
	if f.Identity, err = r.identity(ctx, b); err != nil {
		return f, err
	}
	f.Job, err = outcome.Of(ctx, r.Client, b, job.VerifyName(b), f.Now)
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

// runVerification has the Job of the present test there.
func (r *Reconciler) runVerification(ctx context.Context, f taking.Facts) error {
	b := f.Backup
	t := task.Verify{Dir: b.Status.Directory, ID: b.Status.ID, Checksum: b.Status.Checksum,
		Restore: b.Status.Verification.Method == v1alpha1.VerifyRestore}
	if t.Restore {
		t.Keys = resources.RecordedKeys(f.Cluster)
		t.History = uuid.NewSHA1(uuid.NameSpaceOID, []byte(b.UID)).String()
	}
	j, err := job.Verify(b, f.Store, f.Cluster, t, r.Options, r.Jobs)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, r.Client, r.Live, b.UID, j)
}
