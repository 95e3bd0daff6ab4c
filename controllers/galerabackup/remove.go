package galerabackup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/status"
)

// removeRetryInterval is the pause after a removal that failed.
const removeRetryInterval = time.Minute

// remove deletes the stored data of a backup that is being deleted, and lets it go then. A store, or a namespace, that
// is gone keeps nothing.
func (r *Reconciler) remove(ctx context.Context, b *v1alpha1.GaleraBackup) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(b, Finalizer) {
		return 0, nil
	}
	store, err := storeOf(ctx, r.Client, b)
	if err != nil {
		return 0, err
	}
	if b.Status.ID != "" && !taking.Owned(b) && b.Spec.DeletionPolicy == v1alpha1.BackupDelete {
		// A copy of an object that has made a backup, with its status: what it names is another one's.
		r.Events.Eventf(b, nil, corev1.EventTypeWarning, v1alpha1.ReasonRemovingBackup, "Remove",
			"the data of the backup %s stay in the store: this object has neither made nor imported it", b.Status.ID)
		return 0, patchFinalizers(ctx, r.Client, b, controllerutil.RemoveFinalizer)
	}
	if b.Status.ID == "" || b.Spec.DeletionPolicy != v1alpha1.BackupDelete || store == nil {
		if begun, err := stopRemoval(ctx, r, b); begun || err != nil {
			return taking.PollInterval, err
		}
		return 0, patchFinalizers(ctx, r.Client, b, controllerutil.RemoveFinalizer)
	}
	if running, err := r.stop(ctx, b); running || err != nil {
		return taking.PollInterval, err // what it still writes would stay
	}
	if why, err := needed(ctx, r, b); err != nil {
		return taking.PollInterval, err
	} else if why != "" {
		return taking.PollInterval, r.reportRemoval(ctx, b, b.DeepCopy(), v1alpha1.ReasonRemovingBackup, why)
	}
	seen, err := outcome.Of(ctx, r.Client, b, job.RemoveName(b), r.Now())
	switch {
	case err != nil:
		return 0, err
	case seen.Done && seen.Result.Error == "":
		return 0, patchFinalizers(ctx, r.Client, b, controllerutil.RemoveFinalizer)
	case seen.Done:
		return r.removalFailed(ctx, b, seen.Result.Error)
	case seen.Foreign:
		return r.removalWaits(ctx, b, v1alpha1.ReasonRemovingBackup, seen.Waits)
	case seen.Exists:
		return taking.PollInterval, nil
	}
	if elsewhere := location.Changed(b.Status.Store, store); elsewhere != "" {
		return r.removalWaits(ctx, b, v1alpha1.ReasonStoreChanged, elsewhere+": point the store back")
	}
	if _, problem := status.StoreProblem(store); problem != "" {
		return r.removalWaits(ctx, b, v1alpha1.ReasonRemovingBackup, problem)
	}
	if why, err := kept(ctx, r, b, store); err != nil {
		return 0, err
	} else if why != "" {
		return r.removalWaits(ctx, b, v1alpha1.ReasonRemovingBackup, why)
	}
	err = r.createRemoval(ctx, b, store)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// The namespace is being deleted, and takes no more Jobs. The data stay: their removal was not asked for.
		return 0, patchFinalizers(ctx, r.Client, b, controllerutil.RemoveFinalizer)
	}
	return taking.PollInterval, err
}

// createRemoval creates the Job that deletes the stored data of b.
func (r *Reconciler) createRemoval(ctx context.Context, b *v1alpha1.GaleraBackup,
	store *v1alpha1.GaleraBackupStore) error {
	c, err := clusterOf(ctx, r.Client, b)
	if err != nil {
		return err
	}
	var all v1alpha1.GaleraBackupList
	if err := r.List(ctx, &all, client.InNamespace(b.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	j, err := job.Remove(b, c, store, r.Jobs, taking.Others(all.Items, b)...)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, r.Client, r.Live, b.UID, j)
}

// stopRemoval ends the Job that removes data which are to stay now, and warns that they may not be whole. begun reports
// whether its pod may still be at work.
func stopRemoval(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup) (begun bool, err error) {
	j, err := atWork(ctx, r, b, job.RemoveName(b))
	if err != nil || j == nil {
		return false, err
	}
	if j.DeletionTimestamp == nil {
		r.Events.Eventf(b, nil, corev1.EventTypeWarning, v1alpha1.ReasonRemovingBackup, "Remove",
			"the removal of the backup %s had begun, and is stopped: what it has removed is gone. If the backup is still "+
				"whole, `kubectl galera import backups` finds it", b.Status.ID)
	}
	return true, endJob(ctx, r, b, j)
}

// clusterOf is the cluster whose scheduling a removal has, nil when it is gone, or in another namespace.
func clusterOf(ctx context.Context, r client.Reader, b *v1alpha1.GaleraBackup) (*v1alpha1.GaleraCluster, error) {
	namespace, name := b.Source()
	if namespace != b.Namespace {
		return nil, nil
	}
	c := &v1alpha1.GaleraCluster{}
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return c, err
}

// stop ends the Job of the last attempt. running reports whether its pod may still write.
func (r *Reconciler) stop(ctx context.Context, b *v1alpha1.GaleraBackup) (running bool, err error) {
	if b.Status.Attempts == 0 || b.Status.Phase == v1alpha1.BackupCompleted {
		return false, nil
	}
	j, err := atWork(ctx, r, b, job.Name(b, b.Status.Attempts))
	if err != nil || j == nil {
		return false, err
	}
	return true, endJob(ctx, r, b, j)
}

// inUse names a cluster whose volumes are being filled with the backup, or what loads tables of it, "" for none. It may
// be in another namespace, whose store is the same place: an ID is that of one backup everywhere.
func (r *Reconciler) inUse(ctx context.Context, b *v1alpha1.GaleraBackup) (string, error) {
	var all v1alpha1.GaleraClusterList
	if err := r.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range all.Items {
		c := &all.Items[i]
		if s := c.Status.Restore; s != nil && s.Phase == v1alpha1.RestoreRestoring && s.ID == b.Status.ID &&
			c.DeletionTimestamp == nil {
			return named("cluster", c, b), nil
		}
	}
	var tables v1alpha1.GaleraRestoreList
	if err := r.List(ctx, &tables, client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range tables.Items {
		if o := &tables.Items[i]; o.Status.Phase == v1alpha1.RestoreLoading && o.Status.ID == b.Status.ID &&
			o.DeletionTimestamp == nil {
			return named("GaleraRestore", o, b), nil
		}
	}
	return "", nil
}

// named is the kind and the name of an object, with its namespace if that is another one.
func named(kind string, o client.Object, b *v1alpha1.GaleraBackup) string {
	if o.GetNamespace() != b.Namespace {
		return kind + " " + o.GetNamespace() + "/" + o.GetName()
	}
	return kind + " " + o.GetName()
}

// removalFailed reports why, and makes another attempt after a while.
func (r *Reconciler) removalFailed(ctx context.Context, b *v1alpha1.GaleraBackup, why string) (time.Duration, error) {
	now := r.Now()
	if at := b.Status.AttemptedAt; at != nil && now.Sub(at.Time) < removeRetryInterval {
		return removeRetryInterval - now.Sub(at.Time), nil
	}
	next := b.DeepCopy()
	next.Status.Removals++
	next.Status.AttemptedAt = new(metav1.NewTime(now))
	return removeRetryInterval, r.reportRemoval(ctx, b, next, v1alpha1.ReasonRemovingBackup, why)
}

// removalWaits reports what is wrong with the store. It is asked again shortly.
func (r *Reconciler) removalWaits(ctx context.Context, b *v1alpha1.GaleraBackup, reason, why string) (time.Duration,
	error) {
	return taking.PollInterval, r.reportRemoval(ctx, b, b.DeepCopy(), reason, why)
}

func (r *Reconciler) reportRemoval(ctx context.Context, b, next *v1alpha1.GaleraBackup, reason, why string) error {
	message := "the data could not be removed from the store, and it is tried again: " + why +
		". To keep them there and let this object go, set deletionPolicy to Retain"
	status.SetProgress(&next.Status.Conditions, b.Generation, status.Progress{Working: true, Stalled: true,
		Reason: reason, Message: message})
	if equality.Semantic.DeepEqual(b.Status, next.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Update(ctx, next))
}

// needed returns why the data of a backup are needed yet, "" when nothing needs them.
func needed(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup) (string, error) {
	if by, err := r.inUse(ctx, b); err != nil {
		return "", err
	} else if by != "" {
		return fmt.Sprintf("the %s is being restored from it", by), nil
	}
	var others v1alpha1.GaleraBackupList
	if err := r.Live.List(ctx, &others, client.InNamespace(b.Namespace)); err != nil {
		return "", err
	}
	if by := increments.NeededBy(others.Items, b); by != "" {
		return fmt.Sprintf("the backup %s adds to it, and needs it for a restore: delete that one first", by), nil
	}
	return "", nil
}

// kept returns why the data of an imported backup are not removed, "" when nothing that the operator sees needs them.
func kept(ctx context.Context, r *Reconciler, b *v1alpha1.GaleraBackup, s *v1alpha1.GaleraBackupStore) (string,
	error) {
	if b.Spec.Import == nil {
		return "", nil
	}
	var backups, here v1alpha1.GaleraBackupList
	var clusters v1alpha1.GaleraClusterList
	var restores v1alpha1.GaleraRestoreList
	for _, all := range []client.ObjectList{&backups, &clusters, &restores} {
		if err := r.List(ctx, all); err != nil {
			return "", err
		}
	}
	if err := r.Live.List(ctx, &here, client.InNamespace(b.Namespace)); err != nil { // one may have been created just now
		return "", err
	}
	return taking.Kept(taking.Removal{Backup: b, Backups: append(backups.Items, here.Items...), Clusters: clusters.Items,
		Restores: restores.Items, Today: r.Today(),
		Window: func(c *v1alpha1.GaleraCluster) time.Duration { return archival.Window(c, s) }}), nil
}
