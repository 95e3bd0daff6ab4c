// Package galeracluster reconciles GaleraClusters: get, observe, publish, plan, apply, status. What to do is decided in
// internal/plan, how it is reported in internal/status. Certificates are requested by a controller of their own.
package galeracluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/publish"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraproxies,verbs=get;list;watch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=galera-operator.io,resources=galeraclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=galera-operator.io,resources=galerausers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services;configmaps;secrets;serviceaccounts,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates;issuers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=clusterissuers,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get;list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// whileHealthy is the interval between passes without an event: certificates expire and
	// evidence ages without one.
	whileHealthy = time.Minute
	// whileWaiting is the interval while waiting for something that sends no event, for instance a new issuer.
	whileWaiting = 5 * time.Second
	whileBlocked = 15 * time.Second
	// whileLimited is the interval while data may become too old without an event (spec.readOnlyService.maxLag).
	whileLimited = 5 * time.Second
	// whileConflict is how long a change needs to come back through the cache.
	whileConflict = 100 * time.Millisecond
)

// Reconciler brings one GaleraCluster a step nearer to its spec in every pass.
type Reconciler struct {
	client.Client
	Readers observe.Readers
	Agents  *observe.Agents
	Objects *apply.Objects
	Actor   apply.Actor
	Events  events.EventRecorder
	Options resources.Options
	// ControlCA returns the CA of the operator's own client certificate, in PEM.
	ControlCA func() ([]byte, error)
	// Replacing replaces agents in place; nil for never.
	Replacing *Replacing
	// Metrics receives the result of each pass; nil for none.
	Metrics *Metrics
	// Now is the clock.
	Now func() time.Time

	asking   asking
	refusals refusals
	waits    observe.Waits
}

// Reconcile makes one pass: get, observe, plan, apply, status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.GaleraCluster{}
	if err := r.Get(ctx, req.NamespacedName, c); err != nil || c.DeletionTimestamp != nil {
		r.Agents.Follow(req.NamespacedName, nil)
		r.Metrics.forget(req.NamespacedName)
		r.refusals.forget(req.NamespacedName)
		r.waits.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	facts, err := r.Readers.Gather(ctx, c)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.restore(ctx, &facts); err != nil {
		return retry.Pass(0, err)
	}
	now := r.Now()
	refused, certManager := r.asking.get(req.NamespacedName, now)
	given, pubErr := r.publisher().All(ctx, facts, r.Agents.Seen(req.NamespacedName), refused, now)
	facts = given.Facts(facts)

	r.Agents.Follow(req.NamespacedName, r.targets(facts))
	if !r.Agents.Asked(req.NamespacedName) {
		return ctrl.Result{}, errors.Join(facts.Unread, pubErr) // the first answers wake us
	}
	in := r.input(facts, given, r.Agents.Seen(req.NamespacedName), now)
	in.CertManager = certManager
	if c.Paused() {
		in.Withhold()
		return r.result(ctx, in, facts.Unread, pubErr, r.updateStatus(ctx, in))
	}

	// A failure above is reported, and keeps no later step from being done.
	r.requestEvictions(ctx, in)
	actErr := r.act(ctx, in)
	syncErr := errors.Join(r.sync(ctx, in), r.labelRoles(ctx, in))
	r.reportPrimary(ctx, in, actErr)
	r.copyEventStatuses(ctx, in)
	r.replaceAgents(ctx, in)
	in.RefusedWrite = r.refusals.note(req.NamespacedName, errors.Join(pubErr, actErr, syncErr), now)
	statusErr := r.updateStatus(ctx, in)
	return r.result(ctx, in, facts.Unread, pubErr, actErr, syncErr, statusErr)
}

func (r *Reconciler) publisher() publish.Publisher {
	return publish.Publisher{Client: r.Client, Readers: r.Readers, Objects: r.Objects, Actor: r.Actor,
		Options: r.Options, ControlCA: r.ControlCA}
}

// input collects the findings of this pass, and makes the decision.
func (r *Reconciler) input(f observe.Facts, given publish.Result, seen map[string]observe.Seen,
	now time.Time) status.Input {
	record, renewalRefused := renewals(f, now)
	snapshot := observe.Snapshot(f, seen, given.Config, now)
	r.waits.See(client.ObjectKeyFromObject(f.Cluster), &snapshot, f, now)
	asked, requestRefused := requests(f, seen, snapshot, now)
	in := status.Input{
		Facts: f, Seen: seen, Snapshot: snapshot, Decision: plan.Plan(snapshot),
		Config: given.Config, Published: given.Pair,
		KeysRefused: given.KeysRefused,
		Refused:     given.Refused, ImageRefused: given.ImageRefused, PodMetadataRefused: given.MetadataRefused,
		Failed:   given.Failed,
		Renewals: record, RenewalRefused: renewalRefused,
		Requests: asked, RequestRefused: requestRefused,
		OperatorNamespace: r.Options.OperatorNamespace, Now: now,
		Strangers: r.waits.ForeignMembers(client.ObjectKeyFromObject(f.Cluster), snapshot, seen, now),
	}
	if !given.Identity.Known() {
		in.Decision = unidentified(given.Identity, snapshot)
	}
	in.Decision = withKeys(in.Decision, given.KeysRefused)
	in.Decision = unlessReseeding(in.Decision, f.Cluster)
	in.OutdatedAgents = r.Replacing.outdated(in)
	return in
}

// unlessReseeding takes the place of the planner's decision while volumes are removed and filled again: what the nodes
// of before still report is of no use.
func unlessReseeding(d plan.Decision, c *v1alpha1.GaleraCluster) plan.Decision {
	if !c.Reseeding() {
		return d
	}
	return plan.Decision{Reason: v1alpha1.ReasonReseeding, Message: c.Status.Reseed.Message}
}

// identityTimeout is how long running nodes may take to report their identity before a user is asked to act.
const identityTimeout = time.Minute

// unidentified takes the place of the planner's decision while it is not known whose group the running nodes are in.
func unidentified(i observe.Identity, s galera.Snapshot) plan.Decision {
	early := slices.ContainsFunc(s.Members, func(m galera.Member) bool {
		return slices.Contains(i.Unheard, m.Name) &&
			m.SilentFor < identityTimeout
	})
	return plan.Decision{Reason: v1alpha1.ReasonIdentityUnknown, Message: i.Message(), Blocked: !early}
}

// act carries out an action outside of the status; journal entries are written with the status.
func (r *Reconciler) act(ctx context.Context, in status.Input) error {
	a := in.Decision.Action
	if a == nil || apply.Journal(in.Facts.Cluster.Status.DeepCopy(), a, in.Now) {
		return nil
	}
	log.FromContext(ctx).Info("acting", "action", a, "reason", in.Decision.Reason)
	if done, err := r.actOnArbitrator(ctx, in, a); done {
		return err
	}
	if p, ok := a.(plan.PublishEncryption); ok {
		return r.publisher().Encryption(ctx, in, p)
	}
	return r.Actor.Do(ctx, in.Facts, a)
}

// updateStatus writes the status once, with the journal, and only when it differs. The resource
// version guards it: a decision from an old state never overwrites a newer one.
func (r *Reconciler) updateStatus(ctx context.Context, in status.Input) error {
	c := in.Facts.Cluster.DeepCopy()
	apply.Journal(&c.Status, in.Decision.Action, in.Now)
	status.Update(&c.Status, in)
	r.Metrics.see(client.ObjectKeyFromObject(c), in, c.Status)
	before := in.Facts.Cluster.Status
	if equality.Semantic.DeepEqual(before, c.Status) {
		return nil
	}
	if err := r.Status().Update(ctx, c); err != nil {
		return err
	}
	r.Metrics.count(client.ObjectKeyFromObject(c), before, c.Status)
	for _, e := range status.Events(before, c.Status) {
		r.Events.Eventf(in.Facts.Cluster, nil, e.Type, e.Reason, e.Action, "%s", e.Message)
	}
	return nil
}

// result returns when the cluster is reconciled again without an event. With an error that is decided by retry.BackOff,
// which waits no longer than any of these. A lost race of one part is tried again at once, whatever has happened to the
// others.
func (r *Reconciler) result(ctx context.Context, in status.Input, parts ...error) (ctrl.Result, error) {
	err := errors.Join(parts...)
	if slices.ContainsFunc(parts, retry.OnlyConflicts) {
		// The change has not arrived in the cache yet.
		log.FromContext(ctx).V(1).Info("conflict, trying again", "error", err.Error())
		return ctrl.Result{RequeueAfter: whileConflict}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: nextReconcile(in)}, nil
}

func nextReconcile(in status.Input) time.Duration {
	if observe.MaxLag(in.Facts.Cluster) != nil {
		return min(whileLimited, nextByDecision(in))
	}
	return nextByDecision(in)
}

func nextByDecision(in status.Input) time.Duration {
	d := in.Decision
	switch {
	case d.Action != nil || d.Reason != plan.ReasonHealthy && !d.Blocked:
		return whileWaiting
	case d.Blocked || in.Refused != nil || in.Failed != nil || in.CertManager != nil:
		return whileBlocked
	case in.Published == nil:
		return whileWaiting
	case in.Published.Choice.ClientsWait > 0:
		return min(whileHealthy, in.Published.Choice.ClientsWait)
	}
	return whileHealthy
}
