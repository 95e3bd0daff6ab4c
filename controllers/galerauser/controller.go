// Package galerauser reconciles GaleraUsers: the account in the cluster, its password and its certificate, and the
// Secret for the application.
package galerauser

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/users"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeradatabases,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters;galeraproxies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;list;watch;create;patch;delete

// Finalizer holds a GaleraUser until its account is dropped.
const Finalizer = "galera-operator.io/drop-user"

// passwordReadInterval is how often a person's Secret with a password is read: it sends no event.
const passwordReadInterval = 15 * time.Second

// Reconciler brings one GaleraUser a step further, every time it is asked.
type Reconciler struct {
	client.Client
	clusterref.ClusterResolver
	// Calls ask agents to have accounts as they are to be.
	Calls *calls.Calls[observe.Target, agentapi.SQLUser, agentapi.SQLResult]
	// Pauses grow while a user waits for what sends no event.
	Pauses retry.Pauses
	// Refusals are the changes that the API server refuses.
	Refusals retry.Refusals
	// current are the versions of the users' Secrets.
	current current
	// Events records events for users.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time
}

// Reconcile makes one pass: get, observe, decide, act, write the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	u := &v1alpha1.GaleraUser{}
	defer r.Calls.EndPass(req.NamespacedName)
	defer func() {
		o := u.DeepCopy()
		result, err = r.Refusals.Report(ctx, r.Client, req.NamespacedName, o, &o.Status.Conditions, result, err,
			v1alpha1.ConditionReady)
	}()
	if err := r.Client.Get(ctx, req.NamespacedName, u); err != nil {
		r.Pauses.End(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if u.DeletionTimestamp != nil {
		return retry.Pass(r.remove(ctx, u))
	}
	if !controllerutil.ContainsFinalizer(u, Finalizer) {
		before := u.DeepCopy()
		controllerutil.AddFinalizer(u, Finalizer)
		return retry.Pass(time.Millisecond, r.Patch(ctx, u,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	}
	r.Pauses.Hold(req.NamespacedName)
	p := &pass{Reconciler: r, user: u, now: r.Now()}
	again, err := p.make(ctx)
	if err != nil {
		return retry.Pass(0, err)
	}
	if !p.blocker.Transient {
		r.Pauses.Release(req.NamespacedName)
	}
	next := u.DeepCopy()
	p.setConditions(&next.Status)
	r.Refusals.Apply(next, &next.Status.Conditions, v1alpha1.ConditionReady)
	if !equality.Semantic.DeepEqual(u.Status, next.Status) {
		if err := r.Status().Update(ctx, next); err != nil {
			return retry.Pass(0, err)
		}
		p.announce(u, next)
	}
	if p.drifted(next) {
		r.Events.Eventf(u, nil, corev1.EventTypeWarning, "DriftCorrected", "Apply",
			"the account %s had been changed by hand, and is again as the spec asks for", next.Status.Account)
	}
	return retry.Pass(p.due(r.Pauses.Grow(req.NamespacedName, again)), nil)
}

// pass is one reconciliation of a user, and its outcome.
type pass struct {
	*Reconciler
	user *v1alpha1.GaleraUser
	now  time.Time

	cluster  *v1alpha1.GaleraCluster
	rotation *users.Rotation // nil without a password
	// missingPassword explains why the user's own Secret has no password, "" when it has one.
	missingPassword string
	// blocker is why the account is not as it is to be; unbound is why the application has not all that it needs.
	blocker, bindingProblem clusterref.Blocker
	// proxied reports whether the proxies of the cluster take the account, nil without one; proxyHost is where endpoint:
	// Proxy leads.
	proxied   *proxy.Condition
	proxyHost string
	// repaired reports whether statements were needed for what had been applied.
	repaired bool
	bound    *boundTo
	// begins reports whether nothing was made yet, so that this is written down first.
	begins bool
}

// make brings the user a step further, and returns when to reconcile again.
func (p *pass) make(ctx context.Context) (time.Duration, error) {
	u := p.user
	namespace, name := u.Cluster()
	var err error
	if p.cluster, p.blocker, err = p.ClusterResolver.Cluster(ctx, u.Namespace, namespace, name); err != nil {
		return p.blocker.RetryAfter, err
	}
	if p.cluster != nil {
		if err = p.proxies(ctx); err != nil {
			return 0, err
		}
		// What the cluster's spec rules out is reported even while it is busy with coming to that.
		if h := refused(u, p.cluster); h.Reason != "" {
			p.blocker = h
		}
	}
	if p.blocker.Reason != "" {
		return p.blocker.RetryAfter, p.renew(ctx)
	}
	bound, err := p.readBinding(ctx)
	if err = p.foreignSecret(err); err != nil || p.blocker.Reason != "" {
		return p.blocker.RetryAfter, err
	}
	written, err := p.passwords(ctx, bound)
	if err = p.foreignSecret(err); written || err != nil || p.blocker.Reason != "" {
		return max(p.blocker.RetryAfter, time.Millisecond), err
	}
	if p.begins = u.Status.Account == ""; p.begins {
		return time.Millisecond, nil
	}
	pair, err := p.certificate(ctx)
	if err != nil {
		return 0, err
	}
	if p.blocker, err = p.apply(ctx, bound); err != nil || p.blocker.Reason != "" {
		return p.blocker.RetryAfter, err
	}
	if p.bindingProblem.Reason != "" {
		return p.bindingProblem.RetryAfter, nil
	}
	changed, err := p.bind(ctx, pair)
	if err = p.foreignSecret(err); err != nil || p.blocker.Reason != "" {
		return p.blocker.RetryAfter, err
	}
	if changed {
		return time.Millisecond, nil // the overlap begins when the binding Secret is seen to hold the password
	}
	return p.next(), nil
}

// next returns when to reconcile again what is well.
func (p *pass) next() time.Duration {
	if p.user.Spec.Authentication.PasswordSecretRef != nil {
		return passwordReadInterval
	}
	return clusterref.ResyncPeriod
}

// due is the pause until the next check: the end of an overlap is not missed.
func (p *pass) due(again time.Duration) time.Duration {
	if p.blocker.Reason != "" || p.rotation == nil || p.rotation.Until.IsZero() {
		return again
	}
	return min(again, max(p.rotation.Until.Sub(p.now), time.Second))
}

// apply has the account in the cluster.
func (p *pass) apply(ctx context.Context, bound *boundTo) (clusterref.Blocker, error) {
	var passwords []string
	if p.rotation != nil {
		published := ""
		if bound != nil && p.user.Spec.Plugin != v1alpha1.PluginNative {
			published = bound.password // with the native plugin every driver gets in with either, and the order is left alone
		}
		passwords = p.rotation.Accepted(published)
	}
	desired, err := users.User(p.cluster, p.user, passwords)
	if err != nil {
		return clusterref.Blocker{}, err
	}
	target, blocker := p.Primary(p.cluster)
	if blocker.Reason != "" {
		return blocker, nil
	}
	by := calls.By{Cluster: client.ObjectKeyFromObject(p.cluster), Object: client.ObjectKeyFromObject(p.user)}
	result, err := p.Calls.Ask(ctx, by, target, desired)
	// The operator's own account comes with the data of a cluster of the same name, too.
	adopts := p.user.Spec.Adopt || metav1.IsControlledBy(p.user, p.cluster)
	if err == nil && result.Reason == agentapi.SQLOwned && adopts {
		gone, goneErr := clusterref.GoneForGood(ctx, p.Live, result.Owner, p.cluster, &v1alpha1.GaleraUser{})
		if goneErr != nil {
			return clusterref.Blocker{}, goneErr
		}
		if gone {
			desired.Instead = result.Owner
			result, err = p.Calls.Ask(ctx, by, target, desired)
		}
	}
	if calls.Quiet(err) {
		return clusterref.Blocker{}, err
	}
	p.repaired = result.Statements > 0
	return clusterref.Answer("the account "+users.Account(p.user), "GaleraUser", result, err), nil
}
