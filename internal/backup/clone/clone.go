// Package clone is what the controllers of restores and of backups agree on for clones of living clusters: which
// cluster may be cloned where, and with which temporary backup. All but Sources is pure.
package clone

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Source returns the namespace and the name of the cluster that c is to be a clone of, "" when it is to be none.
func Source(c *v1alpha1.GaleraCluster) (namespace, name string) {
	if c.Spec.BootstrapFrom == nil || c.Spec.BootstrapFrom.Cluster == nil {
		return "", ""
	}
	from := c.Spec.BootstrapFrom.Cluster
	return cmp.Or(from.Namespace, c.Namespace), from.Name
}

// Admits reports whether a cluster, nil for none, may be cloned in a namespace: its owner has said so, or it is the
// cluster's own.
func Admits(source *v1alpha1.GaleraCluster, namespace string) bool {
	return source != nil && (source.Namespace == namespace || slices.Contains(source.Spec.AllowedCloneNamespaces,
		namespace))
}

// Refusal is what a namespace is reported that a cluster does not admit: the same whether there is such a cluster or
// not.
func Refusal(namespace, name, from string) string {
	return fmt.Sprintf(
		"no GaleraCluster %s/%s may be cloned in the namespace %s: its owner must add %q to its spec.allowedCloneNamespaces",
		namespace, name, from, from)
}

// BackupName is the name of the temporary backup that a clone begins with.
func BackupName(c *v1alpha1.GaleraCluster) string { return c.Name + "-clone" }

// Backup is that backup. It goes with the clone, and its data go with it.
func Backup(c *v1alpha1.GaleraCluster) *v1alpha1.GaleraBackup {
	from := c.Spec.BootstrapFrom.Cluster
	b := &v1alpha1.GaleraBackup{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraBackup"},
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: BackupName(c),
			Labels: map[string]string{v1alpha1.LabelCluster: c.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c,
				v1alpha1.GroupVersion.WithKind("GaleraCluster"))}},
		Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: from.Name, Namespace: from.Namespace},
			StoreRef:       from.StoreRef,
			DeletionPolicy: v1alpha1.BackupDelete},
	}
	if from.RateLimit != nil {
		b.Spec.RateLimit = new(from.RateLimit.DeepCopy())
	}
	return b
}

// Owner is the clone that a backup was made for, nil for any other backup. Only the clone may rely on such a backup: it
// is removed shortly.
func Owner(b *v1alpha1.GaleraBackup) *metav1.OwnerReference {
	o := metav1.GetControllerOf(b)
	if o == nil || o.Kind != "GaleraCluster" || o.APIVersion != v1alpha1.GroupVersion.String() {
		return nil
	}
	return o
}

// Fits reports whether a backup is the one that a cluster, nil for none, asks for now: what it is of, where it goes,
// and whose it is. A cluster that has started asks for none.
func Fits(b *v1alpha1.GaleraBackup, c *v1alpha1.GaleraCluster) bool {
	o := Owner(b)
	if o == nil || c == nil || o.UID != c.UID || b.Namespace != c.Namespace || b.Name != BackupName(c) ||
		c.Status.ClusterUUID != "" {
		return false
	}
	namespace, name := Source(c)
	of, named := b.Source()
	return of == namespace && named == name && b.Spec.StoreRef == c.Spec.BootstrapFrom.Cluster.StoreRef
}
