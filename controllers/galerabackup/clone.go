package galerabackup

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
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
func scheduledAs(f facts) *v1alpha1.GaleraCluster {
	if f.clone != nil {
		return f.clone
	}
	return f.cluster
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
		case ns != namespace || n != name || o.UID == b.UID || o.Status.Phase != v1alpha1.BackupRunning:
		case o.Namespace == b.Namespace:
			return o.Name, nil
		case b.Namespace != namespace:
			return "of another namespace", nil // the owner is not disclosed
		}
	}
	return "", nil
}

// unwanted returns the reason why a backup may not be of the cluster it names, "" when it may. Consent is asked for
// until the copy is complete.
func unwanted(f facts) string {
	b := f.backup
	namespace, name := b.Source()
	switch {
	case f.clone != nil && clone.Admits(f.cluster, b.Namespace):
		return ""
	case f.clone != nil && namespace != b.Namespace:
		return clone.Refusal(namespace, name, b.Namespace)
	case namespace != b.Namespace:
		return fmt.Sprintf(
			"a backup is of a cluster in its own namespace: to copy the cluster %s/%s, create a GaleraCluster with "+
				"spec.bootstrapFrom.cluster, and delete this backup", namespace, name)
	case f.clone == nil && clone.Owner(b) != nil:
		return fmt.Sprintf("no GaleraCluster %q asks for this backup: delete it", clone.Owner(b).Name)
	}
	return "" // there is no such cluster: that is reported with another reason
}
