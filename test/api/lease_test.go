package api

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestWriteLease: a lease needs the archive's store, which stays as it is while nodes accept writes by a lease in it.
// It can be turned off at any time: when that counts, the operator decides.
func TestWriteLease(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ns = "write-lease"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shop"}, Spec: spec()}
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{WriteLease: true}}
	mustSay(t, kube.Create(ctx, c.DeepCopy()), "set enabled, too, or remove writeLease")
	c.Spec.Backup.PointInTime.Enabled = true
	must(t, kube.Create(ctx, c))
	update := func(edit func(*v1alpha1.GaleraCluster)) error {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		edit(c)
		return kube.Update(ctx, c)
	}
	state := func(state string) {
		must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
		c.Status.WriteLease = state
		must(t, kube.Status().Update(ctx, c))
	}
	lease := func(on bool) func(*v1alpha1.GaleraCluster) {
		return func(c *v1alpha1.GaleraCluster) { c.Spec.Backup.PointInTime.WriteLease = on }
	}
	in := func(store string) func(*v1alpha1.GaleraCluster) {
		return func(c *v1alpha1.GaleraCluster) { c.Spec.Backup.StoreRef.Name = store }
	}
	must(t, update(in("elsewhere"))) // it is not held yet
	for _, held := range []string{v1alpha1.WriteLeaseStarting, v1alpha1.WriteLeaseHeld, v1alpha1.WriteLeaseEnded,
		v1alpha1.WriteLeaseEnding} {
		state(held)
		for _, change := range []func(*v1alpha1.GaleraCluster){in("offsite"),
			func(c *v1alpha1.GaleraCluster) { c.Spec.Backup.PointInTime = nil },
			func(c *v1alpha1.GaleraCluster) { c.Spec.Backup = nil },
			func(c *v1alpha1.GaleraCluster) { c.Spec.Backup.PointInTime = &v1alpha1.PointInTime{} }} {
			mustSay(t, update(change), "wait until status.writeLease is gone")
		}
		must(t, update(lease(false))) // which counts once the nodes are known to have one
		mustSay(t, update(in("offsite")), "wait until status.writeLease is gone")
		must(t, update(lease(true)))
	}
	must(t, update(lease(false)))
	state("")
	must(t, update(in("offsite")))
	must(t, update(func(c *v1alpha1.GaleraCluster) { c.Spec.Backup = nil }))
}
