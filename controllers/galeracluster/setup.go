package galeracluster

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/proxy"
)

// concurrentClusters is the number of clusters reconciled in parallel. It is large because a pass waits for the agents
// it sends orders to: the recovery of a cluster must not wait behind others whose agents answer slowly.
const concurrentClusters = 64

// SetupWithManager registers the reconciler, which is woken by the cluster itself, by everything that carries the
// cluster's label, and by news from the agents; and the keeper of its certificates.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	certManager := &observe.CertManager{Mapper: mgr.GetRESTMapper(), Cache: mgr.GetCache()}
	r.Client = certManager.Guard(r.Client)
	r.Readers.Cached, r.Objects.Client = r.Client, r.Client

	news := make(chan event.GenericEvent, 256)
	r.Agents.Changed = func(key types.NamespacedName) {
		o := &v1alpha1.GaleraCluster{}
		o.Namespace, o.Name = key.Namespace, key.Name
		news <- event.GenericEvent{Object: o}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraCluster{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrentClusters, RateLimiter: retry.BackOff()}).
		WatchesRawSource(source.Channel(news, &handler.EnqueueRequestForObject{}))
	for _, child := range []client.Object{
		&corev1.Pod{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.ServiceAccount{},
		&corev1.PersistentVolumeClaim{},
		&appsv1.StatefulSet{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{},
	} {
		b = b.Watches(child, handler.EnqueueRequestsFromMapFunc(byLabel))
	}
	b = b.Watches(&v1alpha1.GaleraProxy{}, handler.EnqueueRequestsFromMapFunc(byProxy),
		builder.WithPredicates(predicate.Or(proven, uses)))
	b = b.Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.onHost), builder.WithPredicates(cordoned))
	k := ctrl.NewControllerManagedBy(mgr).
		Named("galeracluster-certificates").
		For(&v1alpha1.GaleraCluster{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrentClusters, RateLimiter: retry.BackOff()}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(byLabel)).
		Watches(&v1alpha1.GaleraUser{}, handler.EnqueueRequestsFromMapFunc(byUser))
	clusters, err := b.Build(r)
	if err != nil {
		return err
	}
	keeper, err := k.Build(certificateKeeper{r})
	if err != nil {
		return err
	}
	certManager.Found = watchBy(mgr.GetCache(), clusters, keeper)
	return mgr.Add(manager.RunnableFunc(certManager.Run))
}

// watchBy lets controllers watch kinds that may appear after they have been started.
func watchBy(of cache.Cache, controllers ...controller.Controller) func(...client.Object) error {
	return func(kinds ...client.Object) error {
		for _, kind := range kinds {
			for _, c := range controllers {
				if err := c.Watch(source.Kind(of, kind, handler.EnqueueRequestsFromMapFunc(byLabel))); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// byLabel finds the cluster of an object that may outlive it, or that another program writes.
func byLabel(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[v1alpha1.LabelCluster]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// cordoned lets through that a host takes no new pods, or takes them again.
var cordoned = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(*corev1.Node)
		after, too := e.ObjectNew.(*corev1.Node)
		return is && too && before.Spec.Unschedulable != after.Spec.Unschedulable
	},
}

// uses lets through that a proxy uses other nodes.
var uses = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1alpha1.GaleraProxy)
	after, too := e.ObjectNew.(*v1alpha1.GaleraProxy)
	return !is || !too || !maps.Equal(proxy.Used(before.Spec.ClusterRef.Name, []v1alpha1.GaleraProxy{*before}),
		proxy.Used(after.Spec.ClusterRef.Name, []v1alpha1.GaleraProxy{*after}))
}}

// onHost finds the clusters with pods on a host.
func (r *Reconciler) onHost(ctx context.Context, host client.Object) (out []reconcile.Request) {
	var pods corev1.PodList
	if r.Client.List(ctx, &pods, client.UnsafeDisableDeepCopy) != nil {
		return nil // seen in the next pass
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Spec.NodeName == host.GetName() {
			out = append(out, byLabel(ctx, p)...)
		}
	}
	return out
}

// byUser finds the cluster whose clients' CA issues a user's certificate.
func byUser(_ context.Context, o client.Object) []reconcile.Request {
	u, ok := o.(*v1alpha1.GaleraUser)
	if !ok || u.Spec.Require != v1alpha1.RequireX509 {
		return nil
	}
	namespace, name := u.Cluster()
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// byProxy finds the cluster of a proxy.
func byProxy(_ context.Context, o client.Object) []reconcile.Request {
	p, ok := o.(*v1alpha1.GaleraProxy)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: p.Namespace, Name: p.Spec.ClusterRef.Name}}}
}

// proven lets through the changes of a proxy that the cluster's Encrypted depends on.
var proven = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1alpha1.GaleraProxy)
	after, too := e.ObjectNew.(*v1alpha1.GaleraProxy)
	if !is || !too {
		return true
	}
	return !equality.Semantic.DeepEqual(meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionEncrypted),
		meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionEncrypted)) ||
		!equality.Semantic.DeepEqual(before.Status.Proof, after.Status.Proof) ||
		before.Status.CertificateSerial != after.Status.CertificateSerial ||
		before.Generation != after.Generation || before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
		(before.Status.Replicas == 0) != (after.Status.Replicas == 0)
}}
