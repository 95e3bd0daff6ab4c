package galeraproxy

import (
	"context"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
)

// SetupWithManager registers the reconciler. It is woken by what it owns, by its pods, and by what the state is decided
// from: the cluster, its users and their Secrets, its CA.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraProxy{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Watches(&v1alpha1.GaleraCluster{}, handler.EnqueueRequestsFromMapFunc(r.byCluster), builder.WithPredicates(moves)).
		Watches(&v1alpha1.GaleraUser{}, handler.EnqueueRequestsFromMapFunc(r.byUser)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.byLabel)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.byLabel)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.byPod)).
		WatchesRawSource(r.Calls.Source()).
		Complete(r)
}

// moves lets through the changes of a cluster that a proxy follows. Its status changes far more often.
var moves = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1alpha1.GaleraCluster)
	after, too := e.ObjectNew.(*v1alpha1.GaleraCluster)
	return !is || !too || before.Generation != after.Generation || before.UID != after.UID ||
		before.Status.Primary != after.Status.Primary || !equality.Semantic.DeepEqual(roles(before), roles(after))
}}

// roles are what readers are chosen by.
func roles(c *v1alpha1.GaleraCluster) (out []string) {
	if op := c.Status.Operation; op != nil {
		out = append(out, op.Type, op.Step, op.Target)
	}
	for _, m := range c.Status.Members {
		out = append(out, m.Name, m.NodeState, m.ComponentState, m.Version, strconv.FormatBool(m.Lagging))
	}
	return out
}

func (r *Reconciler) byCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.proxiesOf(ctx, o.GetNamespace(), o.GetName())
}

func (r *Reconciler) byUser(ctx context.Context, o client.Object) []reconcile.Request {
	namespace, name := o.(*v1alpha1.GaleraUser).Cluster()
	return r.proxiesOf(ctx, namespace, name)
}

// byLabel finds the proxies of the cluster that an object names. Users' Secrets may be in other namespaces.
func (r *Reconciler) byLabel(ctx context.Context, o client.Object) []reconcile.Request {
	return r.proxiesOf(ctx, "", o.GetLabels()[v1alpha1.LabelCluster])
}

// byPod finds the proxy of a pod, and the proxies of a node.
func (r *Reconciler) byPod(ctx context.Context, o client.Object) []reconcile.Request {
	if name := o.GetLabels()[v1alpha1.LabelProxy]; name != "" {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
	}
	return r.proxiesOf(ctx, o.GetNamespace(), o.GetLabels()[v1alpha1.LabelCluster])
}

// proxiesOf finds the proxies of a cluster, of a namespace or of all.
func (r *Reconciler) proxiesOf(ctx context.Context, namespace, cluster string) (out []reconcile.Request) {
	var all v1alpha1.GaleraProxyList
	if cluster == "" || r.List(ctx, &all, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) != nil {
		return nil // asked again shortly
	}
	for i := range all.Items {
		if p := &all.Items[i]; p.Spec.ClusterRef.Name == cluster {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		}
	}
	return out
}
