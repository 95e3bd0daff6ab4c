// Package galerarestore reconciles a GaleraRestore: it has the backup looked for, an account with few privileges made
// in the cluster, and one Job that restores the backup on a temporary volume and loads tables of it through that
// account.
package galerarestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/galeracluster/restoring"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/loading"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerarestores,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerarestores/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerarestores/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerabackups;galerabackupstores;galeraclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers;galeradatabases,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// Reconciler brings one GaleraRestore a step further, every time it is asked.
type Reconciler struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
	Jobs job.Options
	// Options render the pod that restores.
	Options resources.Options
	// Agents are those of the clusters.
	Agents interface {
		Seen(cluster types.NamespacedName) map[string]observe.Seen
	}
	// Calls ask the Job that copies another server how far it is.
	Calls *restoring.Progress
	// Events records events for users.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time

	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
}

// Reconcile makes one pass: get, observe, decide, act or write the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	defer r.Calls.EndPass(req.NamespacedName)
	o := &v1alpha1.GaleraRestore{}
	defer func() {
		seen := o.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, seen, &seen.Status.Conditions, result, err)
	}()
	if err := r.Get(ctx, req.NamespacedName, o); err != nil || o.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // what it owns goes with it
	}
	if o.Ended() {
		return retry.Pass(0, errors.Join(r.tidy(ctx, o), r.restate(ctx, o)))
	}
	f, err := r.observe(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := o.DeepCopy()
	d := loading.Decide(&next.Status, f)
	r.Refusals.Apply(next, &next.Status.Conditions)
	if !equality.Semantic.DeepEqual(o.Status, next.Status) {
		err := r.Status().Update(ctx, next) // the intent first
		if err == nil {
			r.announce(o, next)
		}
		return retry.Pass(d.RequeueAfter, err)
	}
	return retry.Pass(d.RequeueAfter, errors.Join(r.tidyJobs(ctx, o, job.LoadName(o)), r.act(ctx, f, d)))
}

// announce makes an event of a new phase.
func (r *Reconciler) announce(before, o *v1alpha1.GaleraRestore) {
	c := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionComplete)
	if c == nil || o.Status.Phase == before.Status.Phase || o.Status.Phase == v1alpha1.RestorePending {
		return
	}
	kind := corev1.EventTypeNormal
	if o.Status.Phase == v1alpha1.RestoreFailed {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(o, nil, kind, c.Reason, "Restore", "%s", c.Message)
}

// restate sets again, once no change is refused any more, the conditions that a refusal has replaced.
func (r *Reconciler) restate(ctx context.Context, o *v1alpha1.GaleraRestore) error {
	next := o.DeepCopy()
	r.Refusals.Apply(next, &next.Status.Conditions)
	loading.SetEnd(&next.Status, o.Generation)
	if equality.Semantic.DeepEqual(o.Status, next.Status) {
		return nil
	}
	return r.Status().Update(ctx, next)
}

func (r *Reconciler) observe(ctx context.Context, o *v1alpha1.GaleraRestore) (loading.Facts, error) {
	f := loading.Facts{Restore: o, Now: r.Now()}
	c := &v1alpha1.GaleraCluster{}
	err := r.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.ClusterRef.Name}, c)
	if client.IgnoreNotFound(err) != nil {
		return f, err
	}
	if err == nil && c.DeletionTimestamp == nil {
		f.Cluster, f.Agents = c, r.Agents.Seen(client.ObjectKeyFromObject(c))
		if err := r.source(ctx, &f); err != nil {
			return f, err
		}
	}
	if o.Status.Attempts > 0 {
		if f.Job, err = outcome.Of(ctx, r.Client, o, job.LoadName(o), f.Now); err != nil {
			return f, err
		}
	}
	if o.Status.Phase != v1alpha1.RestoreLoading {
		return f, nil
	}
	if o.Spec.From.External != nil {
		if f.Copied, err = restoring.Copied(ctx, r.Live, r.Calls, calls.By{Object: client.ObjectKeyFromObject(o),
			Cluster: client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.ClusterRef.Name}}, job.Progress(o),
			f.Job.Address); err != nil {
			return f, err
		}
	}
	return f, r.access(ctx, &f)
}

// source finds the backup, or where it is looked for.
func (r *Reconciler) source(ctx context.Context, f *loading.Facts) (err error) {
	from := f.Restore.Spec.From
	if x := from.External; x != nil {
		f.Blocker, err = restoring.Credentials(ctx, r.Live, f.Restore.Namespace, x.CredentialsSecretRef, x.TLS,
			"spec.from.external")
		return err
	}
	f.Source, f.Blocker, err = restoring.Stored(ctx, r.Client, f.Cluster, from.Backup, from.Store, "spec.from")
	if err != nil || f.Blocker.Reason != "" {
		return err
	}
	var wrong string
	if f.Source.Find.Target, wrong = restoration.Point(from.PointInTime, "spec.from.pointInTime"); wrong != "" {
		f.Blocker = restoration.Problem{Reason: v1alpha1.ReasonPointInTimeUnavailable, Message: wrong}
		return nil
	}
	f.Blocker, err = restoring.Identity(ctx, r.Live, f.Restore.Namespace, from.IdentitySecretRef,
		"spec.from.identitySecretRef")
	return err
}

// access reports what the account and the databases lack.
func (r *Reconciler) access(ctx context.Context, f *loading.Facts) error {
	if err := r.predecessors(ctx, f); err != nil || f.Access.Reason != "" {
		return err
	}
	for _, want := range children(f.Restore) {
		have := want.DeepCopyObject().(client.Object)
		err := r.Get(ctx, client.ObjectKeyFromObject(want), have)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if of := metav1.GetControllerOf(have); err == nil && of != nil && of.Kind == kindRestore && of.UID != f.Restore.UID {
			f.Access = restoration.Problem{Reason: v1alpha1.ReasonAccessPreparing, Message: fmt.Sprintf(
				"waiting for the GaleraRestore %s, which restores into the same database", of.Name)}
			return nil
		}
		if err == nil && !metav1.IsControlledBy(have, f.Restore) {
			f.Stuck, f.Access = true, restoration.Problem{Reason: v1alpha1.ReasonAccessPreparing, Message: fmt.Sprintf(
				"the %s %s belongs to another owner: delete it, or this restore", kindOf(want), want.GetName())}
			return nil
		}
		var c *metav1.Condition
		if err == nil {
			c = ready(have)
		}
		switch {
		case c == nil:
			f.Access = restoration.Problem{Reason: v1alpha1.ReasonAccessPreparing,
				Message: "waiting for the account of the load"}
			return nil
		case c.Status != metav1.ConditionTrue:
			f.Taken = want.GetName() == job.TargetName(f.Restore) &&
				(c.Reason == v1alpha1.ReasonExistsAlready || c.Reason == v1alpha1.ReasonOwnedByAnother)
			f.Stuck = lasting(c.Reason)
			f.Access = restoration.Problem{Reason: v1alpha1.ReasonAccessPreparing,
				Message: "waiting for " + want.GetName() + ": " + c.Message}
			return nil
		}
	}
	return nil
}

// predecessors finds what earlier restores into the same database still have at work, past the cache: a Job that the
// garbage collector removes goes before its pod, which may be about to give tables their names.
func (r *Reconciler) predecessors(ctx context.Context, f *loading.Facts) error {
	target := job.TargetName(f.Restore)
	if target == "" || f.Job.Exists {
		return nil
	}
	var jobs batchv1.JobList
	var pods corev1.PodList
	into := client.MatchingLabels{v1alpha1.LabelRestoreTarget: target}
	// The Jobs first: a pod that is not seen yet has a Job that is.
	if err := r.Live.List(ctx, &jobs, client.InNamespace(f.Restore.Namespace), into); err != nil {
		return err
	}
	if err := r.Live.List(ctx, &pods, client.InNamespace(f.Restore.Namespace), into); err != nil {
		return err
	}
	f.Access, f.Stuck = loading.Predecessor(f.Restore, jobs.Items, pods.Items, f.Now)
	return nil
}

// lasting reports whether an account or a database that is not Ready for a reason needs a person.
func lasting(reason string) bool {
	switch reason {
	case v1alpha1.ReasonServerRefused, v1alpha1.ReasonPluginMissing, v1alpha1.ReasonGrantNotAllowed,
		v1alpha1.ReasonNameTaken, v1alpha1.ReasonTLSUnavailable, v1alpha1.ReasonExistsAlready,
		v1alpha1.ReasonOwnedByAnother:
		return true
	}
	return false
}

func kindOf(o client.Object) string {
	if _, is := o.(*v1alpha1.GaleraUser); is {
		return "GaleraUser"
	}
	return "GaleraDatabase"
}

// ready is the condition of an account or a database, nil while it does not describe the present spec.
func ready(o client.Object) *metav1.Condition {
	var all []metav1.Condition
	switch o := o.(type) {
	case *v1alpha1.GaleraUser:
		all = o.Status.Conditions
	case *v1alpha1.GaleraDatabase:
		all = o.Status.Conditions
	}
	c := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
	if c != nil && c.ObservedGeneration != o.GetGeneration() {
		return nil
	}
	return c
}

// act has the objects there that the phase needs.
func (r *Reconciler) act(ctx context.Context, f loading.Facts, d loading.Decision) error {
	o := f.Restore
	if d.Find {
		j, err := r.finds(f)
		if err != nil {
			return err
		}
		return ownership.Keep(ctx, r.Client, r.Live, o.UID, j)
	}
	if d.Access {
		for _, child := range children(o) {
			err := ownership.Keep(ctx, r.Client, r.Live, o.UID, child)
			if foreign := (ownership.ErrForeign{}); err != nil && !errors.As(err, &foreign) { // reported by access
				return err
			}
		}
	}
	var errs []error
	if d.Load {
		j, err := r.loads(f)
		if err != nil {
			return err
		}
		errs = append(errs, ownership.Keep(ctx, r.Client, r.Live, o.UID, j))
	}
	// After the Job: what keeps these from being made only keeps the progress from being shown.
	if d.Access && o.Spec.From.External != nil && f.Cluster != nil {
		errs = append(errs, restoring.KeepPair(ctx, r.Client, r.Live, o.UID, job.Progress(o), r.Now()))
		if policy := job.ProgressPolicy(o, f.Cluster, r.Options); policy != nil {
			errs = append(errs, ownership.Keep(ctx, r.Client, r.Live, o.UID, policy))
		}
	}
	return errors.Join(errs...)
}

// tidy removes the account, what was not given a name, all Jobs, and what shows their progress, once the restore has
// ended.
func (r *Reconciler) tidy(ctx context.Context, o *v1alpha1.GaleraRestore) error {
	errs := []error{r.tidyJobs(ctx, o, "")}
	all := children(o)
	if o.Spec.From.External != nil {
		all = append(all, job.Progress(o), job.ProgressPolicy(o, &v1alpha1.GaleraCluster{}, r.Options))
	}
	for _, child := range all {
		errs = append(errs, ownership.Remove(ctx, r.Client, r.Live, o.UID, child))
	}
	return errors.Join(errs...)
}

// tidyJobs removes all Jobs but one: as long as a Job is there its pod holds a volume, also when it has ended.
func (r *Reconciler) tidyJobs(ctx context.Context, o *v1alpha1.GaleraRestore, but string) error {
	var all batchv1.JobList
	if err := r.List(ctx, &all, client.InNamespace(o.Namespace),
		client.MatchingLabels{v1alpha1.LabelRestore: o.Name}); err != nil {
		return err
	}
	var errs []error
	for i := range all.Items {
		if j := &all.Items[i]; j.Name != but && j.DeletionTimestamp == nil {
			errs = append(errs, ownership.Remove(ctx, r.Client, r.Live, o.UID, j,
				client.PropagationPolicy(metav1.DeletePropagationForeground))) // it stays to be seen until its pods are gone
		}
	}
	return errors.Join(errs...)
}

// SetupWithManager registers the reconciler: it is woken by what it owns, by its cluster, and by its store.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("galeratablerestore").
		For(&v1alpha1.GaleraRestore{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: retry.Workers, RateLimiter: retry.BackOff()}).
		Owns(&batchv1.Job{}).
		Owns(&v1alpha1.GaleraUser{}).
		Owns(&v1alpha1.GaleraDatabase{}).
		WatchesRawSource(r.Calls.Source()).
		Watches(&v1alpha1.GaleraBackupStore{}, handler.EnqueueRequestsFromMapFunc(r.waiting)).
		Complete(r)
}

// waiting finds the restores of a namespace that are not over.
func (r *Reconciler) waiting(ctx context.Context, store client.Object) (out []reconcile.Request) {
	var all v1alpha1.GaleraRestoreList
	if r.List(ctx, &all, client.InNamespace(store.GetNamespace())) != nil {
		return nil // asked again shortly
	}
	for i := range all.Items {
		if o := &all.Items[i]; !o.Ended() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	}
	return out
}
