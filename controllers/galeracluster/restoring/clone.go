package restoring

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// A clone is a backup followed by a restore: a GaleraBackup of the clone's own namespace copies the living cluster into
// a store of that namespace. The consent of the source is asked for here, so that nothing is begun without it, and
// again by the controller of backups at each of its passes.

// observeClone finds out what a clone does next, where nothing else keeps it from that.
func (r *Reconciler) observeClone(ctx context.Context, f *restoration.Facts) (err error) {
	c := f.Cluster
	namespace, name := clone.Source(c)
	if name == "" || f.Blocker.Reason != "" {
		return nil
	}
	k := restoration.CopyFacts{Watched: r.Sources.Watches(namespace), Image: resources.Image(c, r.Options)}
	if k.Source, err = r.Sources.Find(ctx, namespace, name); err != nil {
		return err
	}
	if k.Backup, err = r.copyOf(ctx, c); err != nil {
		return err
	}
	if s := c.Status.Restore; s.Phase == v1alpha1.RestoreRestoring {
		f.Blocker = restoration.LostCopy(s, k.Backup)
		return nil
	}
	f.Clone = restoration.Cloning(c, k)
	if f.Blocker = f.Clone.Problem; f.Clone.Find != nil {
		f.Source.Find = *f.Clone.Find
		f.Blocker = restoration.Moved(k.Backup.Status.Store, f.Source.Store, "delete the GaleraBackup "+k.Backup.Name)
	}
	return nil
}

// copyOf returns the backup of that name, nil when there is none.
func (r *Reconciler) copyOf(ctx context.Context, c *v1alpha1.GaleraCluster) (*v1alpha1.GaleraBackup, error) {
	b := &v1alpha1.GaleraBackup{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: clone.BackupName(c)}, b); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return b, nil
}

// tidy removes the copy, and its data from the store, once it is not needed any more.
func (r *Reconciler) tidy(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if restoration.Needed(c) {
		return nil
	}
	b, err := r.copyOf(ctx, c)
	if err != nil || b == nil || b.DeletionTimestamp != nil {
		return err
	}
	return ownership.Remove(ctx, r.Client, r.Live, c.UID, b)
}
