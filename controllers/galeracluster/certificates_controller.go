package galeracluster

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/retry"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/publish"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

const (
	// askTimeout bounds one pass: a webhook may never answer.
	askTimeout = time.Minute
	// reportDelay is how long errors that may pass by themselves are not reported.
	reportDelay = 20 * time.Second
	// whileUnknown is how long it takes to find out whether cert-manager is there.
	whileUnknown = 200 * time.Millisecond
)

// certificateKeeper asks cert-manager for what a cluster needs. It is a controller of its own, with workers and a
// back-off of its own: however slowly cert-manager's webhook fails, nothing else of the cluster waits for it.
type certificateKeeper struct {
	*Reconciler
}

// Reconcile makes one pass.
func (k certificateKeeper) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.GaleraCluster{}
	if err := k.Get(ctx, req.NamespacedName, c); err != nil || c.DeletionTimestamp != nil {
		k.asking.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c.Paused() {
		return ctrl.Result{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	facts, err := k.Readers.Gather(ctx, c)
	if err != nil {
		return ctrl.Result{}, err
	}
	refused, err := k.publisher().Apply(ctx, c, resources.Certificates(c, k.Options, facts.Users))
	err = errors.Join(err, k.publisher().Prune(ctx, c, publish.Published(facts.Config), facts.Users,
		resources.PrunableCertificates()), k.renew(ctx, facts, k.Now()))
	var none observe.ErrNoCertManager
	if errors.As(err, &none) && none.Why == "" {
		return ctrl.Result{RequeueAfter: whileUnknown}, nil
	}
	if k.asking.note(req.NamespacedName, refused, err, k.Now()) {
		k.Agents.Changed(req.NamespacedName)
	}
	switch {
	case retry.OnlyConflicts(err):
		return ctrl.Result{RequeueAfter: whileUnknown}, nil
	case observe.WithoutCertManager(err):
		log.FromContext(ctx).V(1).Info("cert-manager is asked again", "error", err.Error())
		return ctrl.Result{RequeueAfter: whileWaiting}, nil
	case err != nil:
		return ctrl.Result{}, err
	case refused != nil:
		return ctrl.Result{RequeueAfter: whileBlocked}, nil
	case renewing(c):
		return ctrl.Result{RequeueAfter: whileWaiting}, nil
	}
	return ctrl.Result{RequeueAfter: whileHealthy}, nil
}

func renewing(c *v1alpha1.GaleraCluster) bool {
	if c.Status.TLS == nil {
		return false
	}
	for _, r := range c.Status.TLS.Renewals {
		if r.CompletedAt == nil {
			return true
		}
	}
	return false
}

// asking remembers what came of asking cert-manager, for the status that another controller writes. The zero value is
// ready for use.
type asking struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]asked
}

type asked struct {
	refused *validate.Problem // what trying again does not cure
	problem *validate.Problem
	since   time.Time // the problem lasts
	at      time.Time // it was noted last
}

// note remembers a pass, and reports whether there is something else to report than before.
func (a *asking) note(key types.NamespacedName, refused *validate.Problem, err error, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.clusters[key]
	next := asked{refused: refused, since: before.since, at: now}
	if err != nil && !retry.OnlyConflicts(err) {
		next.problem = troubleWith(err)
	}
	switch {
	case next.problem == nil:
		next.since = time.Time{}
	case next.since.IsZero():
		next.since = now
	}
	if a.clusters == nil {
		a.clusters = map[types.NamespacedName]asked{}
	}
	a.clusters[key] = next
	return !same(before.refused, next.refused) || !same(before.reportable(before.at), next.reportable(now))
}

// get returns the problem to report, nil when there is none.
func (a *asking) get(key types.NamespacedName, now time.Time) (refused, problem *validate.Problem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.clusters[key]
	return of.refused, of.reportable(now)
}

func (a *asking) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.clusters, key)
}

// reportable returns the problem, nil while it may pass by itself.
func (a asked) reportable(now time.Time) *validate.Problem {
	if a.problem == nil || a.problem.Reason != v1alpha1.ReasonCertManagerMissing && now.Sub(a.since) < reportDelay {
		return nil
	}
	return a.problem
}

func same(a, b *validate.Problem) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// servingMeanwhile adds to a message that the nodes keep serving without cert-manager.
const servingMeanwhile = ". The nodes keep their certificates; none is issued or renewed meanwhile"

func troubleWith(err error) *validate.Problem {
	var none observe.ErrNoCertManager
	switch {
	case errors.As(err, &none):
		return &validate.Problem{Reason: v1alpha1.ReasonCertManagerMissing, Message: none.Why + servingMeanwhile,
			Blocked: true}
	case observe.WithoutCertManager(err):
		return &validate.Problem{Reason: v1alpha1.ReasonCertManagerMissing, Blocked: true,
			Message: "cert-manager is not installed: its kinds are gone from the API server; install it" + servingMeanwhile}
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // the others are about the same
	return &validate.Problem{Reason: v1alpha1.ReasonCertManagerUnavailable, Blocked: true,
		Message: "cert-manager's objects cannot be written; check its pods and its webhook: " + first + servingMeanwhile}
}
