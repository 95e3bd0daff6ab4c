package galerauser

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// proxies finds the proxies of the cluster, and where the binding Secret leads with endpoint: Proxy.
func (p *pass) proxies(ctx context.Context) error {
	var all v1alpha1.GaleraProxyList
	if err := p.Client.List(ctx, &all, client.InNamespace(p.cluster.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	of := proxy.Of(p.cluster, all.Items)
	if len(of) > 0 && !metav1.IsControlledBy(p.user, p.cluster) { // proxies do not take the operator's own accounts
		p.proxied = new(proxy.Proxied(p.user, of))
	}
	if p.user.Spec.Endpoint != v1alpha1.EndpointProxy {
		return nil
	}
	switch to := proxy.Endpoint(of); {
	case to == nil:
		p.bindingProblem = clusterref.Blocker{Reason: v1alpha1.ReasonProxyNotFound, RetryAfter: clusterref.ResyncPeriod,
			Message: "spec.endpoint is Proxy, and the cluster has no GaleraProxy that takes writes: create one in the " +
				"namespace " + p.cluster.Namespace + ", with a mode other than ReadOnly. " +
				"The binding Secret is not written until then"}
	case p.proxied != nil && !p.proxied.True:
		p.bindingProblem = clusterref.Blocker{Reason: p.proxied.Reason, Message: p.proxied.Message,
			RetryAfter: clusterref.RefusedInterval}
	default:
		p.proxyHost = resources.ProxyHost(to)
	}
	return nil
}

// setProxied sets the condition of a user whose cluster has a proxy.
func (p *pass) setProxied(to *v1alpha1.GaleraUserStatus, set func(kind string, status metav1.ConditionStatus,
	reason, message string)) {
	switch {
	case p.proxied == nil:
		meta.RemoveStatusCondition(&to.Conditions, v1alpha1.ConditionProxied)
	case p.proxied.True:
		set(v1alpha1.ConditionProxied, metav1.ConditionTrue, p.proxied.Reason, p.proxied.Message)
	default:
		set(v1alpha1.ConditionProxied, metav1.ConditionFalse, p.proxied.Reason, p.proxied.Message)
	}
}

// offers lets through the changes of a proxy that users depend on. Its status changes far more often.
var offers = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1alpha1.GaleraProxy)
	after, too := e.ObjectNew.(*v1alpha1.GaleraProxy)
	return !is || !too || before.UID != after.UID || before.Spec.Mode != after.Spec.Mode ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(before.Status.RefusedUsers, after.Status.RefusedUsers)
}}

// byProxy finds the users of a proxy's cluster.
func (r *Reconciler) byProxy(ctx context.Context, o client.Object) []reconcile.Request {
	p, is := o.(*v1alpha1.GaleraProxy)
	if !is {
		return nil
	}
	return r.usersOf(ctx, p.Namespace, p.Spec.ClusterRef.Name, func(*v1alpha1.GaleraUser) bool { return true })
}
