package galerauser

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/users"
)

// remove drops the account of a GaleraUser that is being deleted, ends its connections on every node, and lets the
// object go. With Retain the account stays, and stays marked: this object can be made again, and no other takes it over
// without being asked to.
func (r *Reconciler) remove(ctx context.Context, u *v1alpha1.GaleraUser) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(u, Finalizer) {
		return 0, nil
	}
	namespace, name := u.Cluster()
	c := &v1alpha1.GaleraCluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
	if client.IgnoreNotFound(err) != nil {
		return 0, err
	}
	if err == nil && c.DeletionTimestamp == nil {
		h, err := r.drop(ctx, c, u)
		if err != nil {
			return 0, err
		}
		if h.Reason != "" {
			return r.Pauses.Grow(client.ObjectKeyFromObject(u), h.RetryAfter), r.reportWait(ctx, u, h)
		}
	}
	r.current.forget(client.ObjectKey{Namespace: u.Namespace, Name: u.BindingName()},
		client.ObjectKey{Namespace: u.Namespace, Name: passwordName(u)},
		client.ObjectKey{Namespace: namespace, Name: resources.UserIssuedName(
			&v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, u)})
	c.Namespace, c.Name = namespace, name
	if err := r.dropIssued(ctx, c, u); err != nil {
		return 0, err
	}
	before := u.DeepCopy()
	controllerutil.RemoveFinalizer(u, Finalizer)
	return 0, client.IgnoreNotFound(r.Patch(ctx, u,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

// drop has the account gone. What the primary drops, the other nodes hear of: they are asked to end its connections.
func (r *Reconciler) drop(ctx context.Context, c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser) (clusterref.Blocker,
	error) {
	if u.Status.Account == "" || u.Spec.DeletionPolicy == v1alpha1.AccountRetain {
		return clusterref.Blocker{}, nil // nothing was ever asked for, or it stays
	}
	// A namespace that is no longer admitted may still take away what is its own.
	_, h, err := r.ClusterResolver.Cluster(ctx, c.Namespace, c.Namespace, c.Name)
	if err != nil || h.Reason != "" {
		return h, err
	}
	target, h := r.Primary(c)
	if h.Reason != "" {
		return h, nil
	}
	desired := users.AbsentUser(u)
	by := calls.By{Cluster: client.ObjectKeyFromObject(c), Object: client.ObjectKeyFromObject(u)}
	result, err := r.Calls.Ask(ctx, by, target, desired)
	if err == nil {
		earlier, liveErr := clusterref.Predecessor(ctx, r.Live, desired.SQLOwner, result, u, &v1alpha1.GaleraUser{})
		if liveErr != nil {
			return clusterref.Blocker{}, liveErr
		}
		if earlier {
			desired.Instead = result.Owner
			result, err = r.Calls.Ask(ctx, by, target, desired)
		}
	}
	if calls.Quiet(err) {
		return clusterref.Blocker{}, err
	}
	if h := clusterref.Answer("the account "+users.Account(u), "GaleraUser", result, err); h.Reason != "" {
		return h, nil
	}
	for _, t := range r.Others(c) {
		result, err := r.Calls.Ask(ctx, by, t, desired)
		if calls.Quiet(err) {
			return clusterref.Blocker{}, err
		}
		if err != nil || result.Reason != "" {
			h := clusterref.Answer("a connection on "+t.Pod, "GaleraUser", result, err)
			return h, nil
		}
	}
	return clusterref.Blocker{}, nil
}

// reportWait reports what the deletion waits for, and what ends it.
func (r *Reconciler) reportWait(ctx context.Context, u *v1alpha1.GaleraUser, h clusterref.Blocker) error {
	next := u.DeepCopy()
	conditions.Set(&next.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDropping, ObservedGeneration: u.Generation,
		Message: fmt.Sprintf(
			"the account is dropped when the cluster takes changes again: %s. To delete this object without that, remove its "+
				"finalizer %s; the account then stays", h.Message, Finalizer)})
	if equality.Semantic.DeepEqual(u.Status, next.Status) {
		return nil
	}
	return r.Status().Update(ctx, next)
}
