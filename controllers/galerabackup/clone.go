package galerabackup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
)

// cloneOf returns the clone that a backup is made for, nil where none asks for it.
func (r *Reconciler) cloneOf(ctx context.Context, b *v1alpha1.GaleraBackup) (*v1alpha1.GaleraCluster, error) {
	o := clone.Owner(b)
	if o == nil {
		return nil, nil
	}
	c := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: o.Name}, c); err != nil || !clone.Fits(b, c) {
		return nil, client.IgnoreNotFound(err)
	}
	return c, nil
}

// scheduledAs returns the cluster that a backup's Job has the scheduling, priority and pull secrets of: the clone,
// where it is made for one. Its source may be in another namespace, whose hosts and priorities are not the clone's.
func scheduledAs(f taking.Facts) *v1alpha1.GaleraCluster {
	if f.Clone != nil {
		return f.Clone
	}
	return f.Cluster
}

// other names a backup of the same cluster that runs. Those of the cluster's own namespace do not wait for clones
// elsewhere, which may be as slow as their authors like: the node that is read is left out, and another one taken.
func (r *Reconciler) other(ctx context.Context, b *v1alpha1.GaleraBackup) (string, error) {
	var all v1alpha1.GaleraBackupList
	if err := r.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	namespace, name := b.Source()
	for i := range all.Items {
		o := &all.Items[i]
		ns, n := o.Source()
		switch {
		case ns != namespace || n != name || o.UID == b.UID || o.Status.Phase != v1alpha1.BackupRunning,
			o.Spec.Import != nil: // reads no node
		case o.Namespace == b.Namespace:
			return o.Name, nil
		case b.Namespace != namespace:
			return "of another namespace", nil // the owner is not disclosed
		}
	}
	return "", nil
}
