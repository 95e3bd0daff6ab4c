// Package galerabenchmark reconciles GaleraBenchmarks: it prepares clusters and Jobs, takes results in, and judges
// them.
package galerabenchmark

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabenchmarks,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabenchmarks/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;delete
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups,verbs=get;create;delete
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackupstores;galeraproxies,verbs=get
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers;galeradatabases,verbs=get;list;watch;create;patch;delete

// benchmarkFinalizer ends the mark on a referenced cluster, and drops what the benchmark has there, before the
// benchmark is gone.
const benchmarkFinalizer = "galera-operator.io/restore-cluster"

// Reconciler brings one GaleraBenchmark a step further, every time it is asked.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
	// Images are those of Jobs: the client's has the load generator, for benchmarks that name none.
	Images objects.Images
	// Domain is the DNS domain of the Kubernetes cluster.
	Domain string
	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
	// Now is the clock.
	Now func() time.Time
}

// Reconcile makes one pass: get, observe, plan, journal, apply, status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	b := &v1alpha1.GaleraBenchmark{}
	defer func() {
		o := b.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err)
	}()
	err = r.Get(ctx, req.NamespacedName, b)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if b.DeletionTimestamp != nil && !controllerutil.ContainsFinalizer(b, benchmarkFinalizer) {
		return ctrl.Result{}, nil // what is ours goes with it
	}
	result, err = r.pass(ctx, b)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 100 * time.Millisecond}, nil
	}
	return result, err
}

func (r *Reconciler) pass(ctx context.Context, b *v1alpha1.GaleraBenchmark) (ctrl.Result, error) {
	if added, err := r.ensureFinalizer(ctx, b); added || err != nil {
		return ctrl.Result{}, err
	}
	if chosen, err := r.chooseSuffix(ctx, b); chosen || err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observeBenchmark(ctx, b)
	if err != nil {
		return ctrl.Result{}, err
	}
	if b.DeletionTimestamp == nil && controllerutil.ContainsFinalizer(b, benchmarkFinalizer) &&
		experiment.NothingLeft(seen.State) {
		// Once the operator is removed, nothing would take it away at the deletion, nor at that of the namespace.
		return ctrl.Result{}, r.patchFinalizers(ctx, b, controllerutil.RemoveFinalizer)
	}
	d, err := r.readied(ctx, b, seen, experiment.Next(seen.State))
	if err != nil {
		return ctrl.Result{}, err
	}
	if _, over := d.Action.(experiment.Finish); over && b.DeletionTimestamp != nil {
		return ctrl.Result{}, r.patchFinalizers(ctx, b, controllerutil.RemoveFinalizer)
	}
	changed, err := r.updateBenchmark(ctx, b, seen, d)
	if err != nil || changed && d.Action != nil {
		// The journal first: the change wakes us, and what is decided then is the same.
		return ctrl.Result{RequeueAfter: 50 * time.Millisecond}, err
	}
	if d.Action != nil {
		log.FromContext(ctx).Info("benchmark", "action", actionName(d.Action), "reason", d.Message)
		if err := r.actBenchmark(ctx, b, seen, d.Action); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	return ctrl.Result{RequeueAfter: d.Again}, nil
}

// ensureFinalizer is needed only where something that is not ours is changed.
func (r *Reconciler) ensureFinalizer(ctx context.Context, b *v1alpha1.GaleraBenchmark) (added bool, err error) {
	if b.Spec.Cluster.Ref == nil || b.DeletionTimestamp != nil || b.Status.CompletedAt != nil ||
		controllerutil.ContainsFinalizer(b, benchmarkFinalizer) {
		return false, nil
	}
	return true, r.patchFinalizers(ctx, b, controllerutil.AddFinalizer)
}

// patchFinalizers leaves the spec alone: what a user wrote, 60s for instance, is not what we would write, 1m0s, and it
// may not be changed.
func (r *Reconciler) patchFinalizers(ctx context.Context, b *v1alpha1.GaleraBenchmark,
	change func(client.Object, string) bool) error {
	before := b.DeepCopy()
	change(b, benchmarkFinalizer)
	return r.Patch(ctx, b, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// updateBenchmark writes the status when it differs, and reports whether it did.
func (r *Reconciler) updateBenchmark(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	d experiment.Decision) (bool, error) {
	next := b.DeepCopy()
	benchmarkStatus(&next.Status, b, seen, d, r.Now())
	r.Refusals.Apply(next, &next.Status.Conditions)
	if equality.Semantic.DeepEqual(b.Status, next.Status) {
		return false, nil
	}
	if err := r.Status().Update(ctx, next); err != nil {
		return false, err
	}
	return true, nil
}

// SetupWithManager registers the reconciler: it is woken by the benchmark, its Jobs, and the clusters that are
// measured.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.GaleraBenchmark{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		Owns(&batchv1.Job{}).
		Owns(&v1alpha1.GaleraUser{}).
		Owns(&v1alpha1.GaleraDatabase{}).
		Watches(&v1alpha1.GaleraCluster{}, handler.EnqueueRequestsFromMapFunc(r.byCluster)).
		Complete(r)
}

// byCluster finds the benchmarks that measure a cluster.
func (r *Reconciler) byCluster(ctx context.Context, o client.Object) (out []reconcile.Request) {
	var all v1alpha1.GaleraBenchmarkList
	if r.List(ctx, &all, client.InNamespace(o.GetNamespace())) != nil {
		return nil // asked again shortly
	}
	for i := range all.Items {
		if objects.ClusterName(&all.Items[i]) == o.GetName() {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(),
				Name: all.Items[i].Name}})
		}
	}
	return out
}
