package galerauser

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/users"
)

// SetupWithManager registers the reconciler. It is woken by the user and its Secrets; by its certificate and the
// cluster's CA; and, while it waits, or its cluster takes its TLS away, by its cluster; by databases; and by proxies.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraUser{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		Owns(&corev1.Secret{}).
		Watches(&v1alpha1.GaleraCluster{}, handler.EnqueueRequestsFromMapFunc(r.byCluster),
			builder.WithPredicates(clusterref.MayEndWait)).
		Watches(&v1alpha1.GaleraProxy{}, handler.EnqueueRequestsFromMapFunc(r.byProxy), builder.WithPredicates(offers)).
		Watches(&v1alpha1.GaleraDatabase{}, handler.EnqueueRequestsFromMapFunc(r.byDatabase)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.byCA)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byCertificate)).
		WatchesRawSource(r.Calls.Source()).
		Complete(r)
}

func (r *Reconciler) byCluster(ctx context.Context, o client.Object) []reconcile.Request {
	c, _ := o.(*v1alpha1.GaleraCluster)
	return r.usersOf(ctx, o.GetNamespace(), o.GetName(), func(u *v1alpha1.GaleraUser) bool {
		return clusterref.Waiting(o, u, u.Status.ObservedGeneration, u.Status.Conditions) ||
			r.Pauses.Held(client.ObjectKeyFromObject(u)) || c != nil && users.LacksTLS(u, c)
	})
}

// byDatabase finds users that may wait for a database, and those that lose it.
func (r *Reconciler) byDatabase(ctx context.Context, o client.Object) []reconcile.Request {
	d := o.(*v1alpha1.GaleraDatabase)
	namespace, name := d.Cluster()
	return r.usersOf(ctx, namespace, name, func(u *v1alpha1.GaleraUser) bool {
		return clusterref.Waiting(nil, u, u.Status.ObservedGeneration, u.Status.Conditions) || u.Namespace == d.Namespace &&
			d.DeletionTimestamp != nil
	})
}

func (r *Reconciler) byCA(ctx context.Context, o client.Object) []reconcile.Request {
	c := &v1alpha1.GaleraCluster{}
	c.Name = o.GetLabels()[v1alpha1.LabelCluster]
	if c.Name == "" || o.GetName() != resources.CAConfigMapName(c) {
		return nil
	}
	return r.usersOf(ctx, o.GetNamespace(), c.Name, func(*v1alpha1.GaleraUser) bool { return true })
}

func (r *Reconciler) byCertificate(ctx context.Context, o client.Object) []reconcile.Request {
	c := &v1alpha1.GaleraCluster{}
	c.Name = o.GetLabels()[v1alpha1.LabelCluster]
	if c.Name == "" || !strings.HasPrefix(o.GetName(), c.Name+"-user-") {
		return nil
	}
	return r.usersOf(ctx, o.GetNamespace(), c.Name,
		func(u *v1alpha1.GaleraUser) bool { return resources.UserIssuedName(c, u) == o.GetName() })
}

// usersOf finds users of a cluster.
func (r *Reconciler) usersOf(ctx context.Context, namespace, name string, which func(*v1alpha1.GaleraUser) bool) (
	out []reconcile.Request) {
	var all v1alpha1.GaleraUserList
	if r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy) != nil {
		return nil // asked again shortly
	}
	for i := range all.Items {
		u := &all.Items[i]
		if ns, n := u.Cluster(); ns == namespace && n == name && which(u) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(u)})
		}
	}
	return out
}
