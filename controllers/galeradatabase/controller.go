// Package galeradatabase reconciles GaleraDatabases.
package galeradatabase

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/users"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galeradatabases,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeradatabases/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeradatabases/finalizers,verbs=update

// Finalizer holds a GaleraDatabase until its database is dropped.
const Finalizer = "galera-operator.io/drop-database"

// Reconciler brings one GaleraDatabase a step further, every time it is asked.
type Reconciler struct {
	client.Client
	clusterref.ClusterResolver
	// Calls ask agents to have databases as they are to be.
	Calls *calls.Calls[observe.Target, agentapi.SQLDatabase, agentapi.SQLResult]
	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
	// Pauses grow while a database waits for what sends no event.
	Pauses retry.Pauses
	// Events records events for users.
	Events events.EventRecorder
}

// Reconcile makes one pass.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	d := &v1alpha1.GaleraDatabase{}
	defer r.Calls.EndPass(req.NamespacedName)
	defer func() {
		o := d.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err,
			v1alpha1.ConditionReady)
	}()
	if err := r.Client.Get(ctx, req.NamespacedName, d); err != nil {
		r.Pauses.End(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if d.DeletionTimestamp != nil {
		return retry.Pass(r.remove(ctx, d))
	}
	if !controllerutil.ContainsFinalizer(d, Finalizer) {
		return retry.Pass(time.Millisecond, r.finalizer(ctx, d, controllerutil.AddFinalizer))
	}
	namespace, name := d.Cluster()
	c, h, err := r.Cluster(ctx, d.Namespace, namespace, name)
	if why := users.DatabaseOverreach(d, namespace); err == nil && h.Reason == "" && why != "" {
		h = clusterref.Blocker{Reason: v1alpha1.ReasonGrantNotAllowed, Message: why, RetryAfter: clusterref.RefusedInterval}
	}
	if err == nil && h.Reason == "" && d.Status.Name == "" {
		// Written down before it is made: when this object is deleted, the database is not forgotten.
		next := d.DeepCopy()
		next.Status.Name = d.DatabaseName()
		return retry.Pass(time.Millisecond, r.Status().Update(ctx, next))
	}
	if err == nil && h.Reason == "" {
		h, err = r.keep(ctx, c, d, true)
	}
	if err != nil {
		return retry.Pass(0, err)
	}
	again := clusterref.ResyncPeriod
	if h.Reason != "" {
		again = h.RetryAfter
	}
	return retry.Pass(r.Pauses.Grow(req.NamespacedName, again), r.updateStatus(ctx, d, h))
}

func (r *Reconciler) finalizer(ctx context.Context, d *v1alpha1.GaleraDatabase,
	change func(client.Object, string) bool) error {
	before := d.DeepCopy()
	change(d, Finalizer)
	return client.IgnoreNotFound(r.Patch(ctx, d,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// keep has the database there, or gone.
func (r *Reconciler) keep(ctx context.Context, c *v1alpha1.GaleraCluster, d *v1alpha1.GaleraDatabase, present bool) (
	clusterref.Blocker, error) {
	target, h := r.Primary(c)
	if h.Reason != "" {
		return h, nil
	}
	desired, by := users.Database(d, present), calls.By{Cluster: client.ObjectKeyFromObject(c),
		Object: client.ObjectKeyFromObject(d)}
	result, err := r.Calls.Ask(ctx, by, target, desired)
	if err == nil && present && result.Reason == agentapi.SQLOwned && d.Spec.Adopt {
		gone, goneErr := clusterref.GoneForGood(ctx, r.Live, result.Owner, c, &v1alpha1.GaleraDatabase{})
		if goneErr != nil {
			return h, goneErr
		}
		if gone {
			desired.Instead = result.Owner
			result, err = r.Calls.Ask(ctx, by, target, desired)
		}
	}
	if err == nil && !present {
		earlier, liveErr := clusterref.Predecessor(ctx, r.Live, desired.SQLOwner, result, d, &v1alpha1.GaleraDatabase{})
		if liveErr != nil {
			return h, liveErr
		}
		if earlier {
			desired.Instead = result.Owner
			result, err = r.Calls.Ask(ctx, by, target, desired)
		}
	}
	if calls.Quiet(err) {
		return h, err
	}
	return clusterref.Answer("the database "+desired.Name, "GaleraDatabase", result, err), nil
}

// updateStatus writes down what the pass has found.
func (r *Reconciler) updateStatus(ctx context.Context, d *v1alpha1.GaleraDatabase, h clusterref.Blocker) error {
	was := meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionReady)
	if h.Transient && was && d.Status.ObservedGeneration == d.Generation {
		return nil // a busy cluster is no evidence of what was applied
	}
	next := d.DeepCopy()
	next.Status.ObservedGeneration = d.Generation
	status, kind := metav1.ConditionTrue, corev1.EventTypeNormal
	if h.Reason == "" {
		h = clusterref.Blocker{Reason: v1alpha1.ReasonApplied, Message: "the database " + d.DatabaseName() +
			" is in the cluster as the spec asks for"}
	} else {
		status, kind = metav1.ConditionFalse, corev1.EventTypeWarning
	}
	for _, condition := range []string{v1alpha1.ConditionApplied, v1alpha1.ConditionReady} {
		conditions.Set(&next.Status.Conditions, metav1.Condition{Type: condition, Status: status, Reason: h.Reason,
			Message: h.Message, ObservedGeneration: d.Generation})
	}
	r.Refusals.Apply(next, &next.Status.Conditions, v1alpha1.ConditionReady)
	if equality.Semantic.DeepEqual(d.Status, next.Status) {
		return nil
	}
	err := r.Status().Update(ctx, next)
	if before := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady); err == nil &&
		(before == nil || before.Reason != h.Reason) {
		r.Events.Eventf(d, nil, kind, h.Reason, "Apply", "%s", h.Message)
	}
	return err
}

// remove drops the database and lets the object go. With Retain the database stays, and stays marked: this object can
// be made again, and no other takes it over without being asked to.
func (r *Reconciler) remove(ctx context.Context, d *v1alpha1.GaleraDatabase) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(d, Finalizer) {
		return 0, nil
	}
	namespace, name := d.Cluster()
	c := &v1alpha1.GaleraCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if err == nil && c.DeletionTimestamp == nil && d.Status.Name != "" && d.Spec.DeletionPolicy == v1alpha1.AccountDelete {
		// A namespace that is no longer admitted may still take away what is its own.
		_, h, err := r.Cluster(ctx, namespace, namespace, name)
		if err == nil && h.Reason == "" {
			h, err = r.keep(ctx, c, d, false)
		}
		if err != nil {
			return 0, err
		}
		if h.Reason != "" {
			return r.Pauses.Grow(client.ObjectKeyFromObject(d), h.RetryAfter), r.reportWait(ctx, d, h)
		}
	}
	return 0, r.finalizer(ctx, d, controllerutil.RemoveFinalizer)
}

// reportWait reports what the deletion waits for, and what ends it.
func (r *Reconciler) reportWait(ctx context.Context, d *v1alpha1.GaleraDatabase, h clusterref.Blocker) error {
	next := d.DeepCopy()
	conditions.Set(&next.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDropping, ObservedGeneration: d.Generation,
		Message: fmt.Sprintf(
			"waiting for the cluster to take changes: %s. To delete this object without that, remove its finalizer %s; the "+
				"database then stays", h.Message, Finalizer)})
	if equality.Semantic.DeepEqual(d.Status, next.Status) {
		return nil
	}
	return r.Status().Update(ctx, next)
}

// SetupWithManager registers the reconciler: it is woken by the database, and, while it waits, by its cluster.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraDatabase{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		Watches(&v1alpha1.GaleraCluster{}, handler.EnqueueRequestsFromMapFunc(r.waiting),
			builder.WithPredicates(clusterref.MayEndWait)).
		WatchesRawSource(r.Calls.Source()).
		Complete(r)
}

// waiting finds the databases that wait for a cluster.
func (r *Reconciler) waiting(ctx context.Context, cluster client.Object) (out []reconcile.Request) {
	var all v1alpha1.GaleraDatabaseList
	if r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy) != nil {
		return nil // asked again shortly
	}
	for i := range all.Items {
		d := &all.Items[i]
		namespace, name := d.Cluster()
		if namespace == cluster.GetNamespace() && name == cluster.GetName() && clusterref.Waiting(cluster, d,
			d.Status.ObservedGeneration, d.Status.Conditions) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)})
		}
	}
	return out
}
