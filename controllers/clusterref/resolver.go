// Package clusterref resolves the cluster of a GaleraUser or a GaleraDatabase: which one it is, whether it may be
// changed now, and what an agent's answer means.
package clusterref

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/users"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

const (
	// WaitInterval is the first interval while something is waited for that sends no event; the intervals grow
	// (retry.Pauses).
	WaitInterval = 3 * time.Second
	// RefusedInterval is how often a refusal by the server is tried again: each try may stop the cluster for a moment.
	RefusedInterval = time.Minute
	// ResyncPeriod is how often what is applied is read again, to corrected what was changed by hand.
	ResyncPeriod = 5 * time.Minute
)

// Agents are those of the clusters.
type Agents interface {
	Seen(key types.NamespacedName) map[string]observe.Seen
	Target(key types.NamespacedName, pod string) (observe.Target, bool)
}

// Blocker is why something is not applied.
type Blocker struct {
	Reason, Message string
	// Transient reports whether what was applied before stays in force: the cluster is busy, or cannot be reached.
	Transient bool
	// Leaseless reports whether nodes accept no writes because the cluster's lease is not renewed.
	Leaseless  bool
	RetryAfter time.Duration
}

// ClusterResolver finds clusters.
type ClusterResolver struct {
	client.Reader
	// Live reads past the cache.
	Live   client.Reader
	Agents Agents
	// Labels remembers the labels of namespaces; nil remembers none.
	Labels *Labels
}

// Cluster returns the cluster that an object of a namespace names, nil when there is none. The blocker is empty when
// the cluster takes changes from that namespace now.
func (r ClusterResolver) Cluster(ctx context.Context, from, namespace, name string) (*v1alpha1.GaleraCluster, Blocker,
	error) {
	c := &v1alpha1.GaleraCluster{}
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
	if client.IgnoreNotFound(err) != nil {
		return nil, Blocker{}, err
	}
	if err != nil {
		c = nil
	}
	if from != namespace {
		// Whether there is a cluster of that name is disclosed only to namespaces that may use it.
		admitted, err := r.admitted(ctx, c, from)
		if err != nil || !admitted {
			return nil, Blocker{Reason: v1alpha1.ReasonNamespaceNotAllowed, RetryAfter: ResyncPeriod,
				Message: fmt.Sprintf(
					"no GaleraCluster %s/%s takes users and databases from the namespace %s: its spec.allowedNamespaces must select "+
						"this namespace's labels", namespace, name, from)}, err
		}
	}
	if c == nil {
		return nil, Blocker{Reason: v1alpha1.ReasonClusterNotFound, RetryAfter: ResyncPeriod,
			Message: fmt.Sprintf("there is no GaleraCluster %q in the namespace %s: create it, or delete this object", name,
				namespace)}, nil
	}
	return c, busy(c), nil
}

func (r ClusterResolver) admitted(ctx context.Context, c *v1alpha1.GaleraCluster, namespace string) (bool, error) {
	if c == nil || c.Spec.AllowedNamespaces == nil {
		return false, nil
	}
	labels, found, err := r.Labels.get(ctx, r.Live, namespace)
	if err != nil || !found {
		return false, err
	}
	return users.Admits(c, namespace, labels)
}

// busy returns the reason why nothing is written to a cluster now. One that has not begun yet, though a cluster of its
// name may have been there before, has nothing that was applied.
func busy(c *v1alpha1.GaleraCluster) Blocker {
	// its end is an event: Turns
	h := Blocker{Reason: v1alpha1.ReasonWaitingCluster, Transient: c.Status.ClusterUUID != "", RetryAfter: ResyncPeriod}
	switch op := c.Status.Operation; {
	case c.DeletionTimestamp != nil:
		h.Message = "the cluster is being deleted: delete this object, too, or create the cluster again"
	case c.Paused():
		h.Reason = v1alpha1.ReasonClusterPaused
		h.Message = "the cluster is paused: remove its annotation " + v1alpha1.AnnotationPause
	case c.Spec.Hibernate:
		h.Message = "the cluster hibernates: set its spec.hibernate to false"
	case c.Refuses(): // what the operator writes counts, too
		h.Message = "the cluster accepts no writes: another site has taken over, or is to"
	case op != nil:
		h.Message = fmt.Sprintf("waiting for the cluster's operation %s to end", op.Type)
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable):
		h.Message = "waiting for the cluster to accept writes"
		available := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAvailable)
		h.Leaseless = available != nil && available.Reason == v1alpha1.ReasonWriteLeaseEnded
	case stalledBy(c, v1alpha1.ReasonStatementBlocked):
		h.Message = "waiting for a statement that waits for a lock: see the condition Stalled of the cluster " + c.Name
	default:
		return Blocker{}
	}
	return h
}

func stalledBy(c *v1alpha1.GaleraCluster, reason string) bool {
	s := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled)
	return s != nil && s.Status == metav1.ConditionTrue && s.Reason == reason
}

// Primary returns the agent to ask: that of the primary.
func (r ClusterResolver) Primary(c *v1alpha1.GaleraCluster) (observe.Target, Blocker) {
	key := client.ObjectKeyFromObject(c)
	seen := r.Agents.Seen(key)[c.Status.Primary]
	target, followed := r.Agents.Target(key, c.Status.Primary)
	if !followed || !seen.Live || seen.Report.Server == nil || seen.Report.Server.State != galera.NodeSynced {
		return target, Blocker{Reason: v1alpha1.ReasonAgentUnreachable, Transient: true, RetryAfter: WaitInterval,
			Message: "waiting for the agent of the primary " + cmp.Or(c.Status.Primary, "node")}
	}
	return target, Blocker{}
}

// Others returns the agents of the other nodes that serve, in the order of their names.
func (r ClusterResolver) Others(c *v1alpha1.GaleraCluster) (out []observe.Target) {
	key := client.ObjectKeyFromObject(c)
	for pod, seen := range r.Agents.Seen(key) {
		if t, followed := r.Agents.Target(key, pod); followed && seen.Live && seen.Report.Server != nil &&
			pod != c.Status.Primary {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b observe.Target) int { return cmp.Compare(a.Pod, b.Pod) })
	return out
}

// Answer returns what an agent's answer about a thing means, and what is to be done about it.
func Answer(what, kind string, result agentapi.SQLResult, err error) Blocker {
	message, owner := result.Message, "another namespace"
	if result.Owner != "" {
		owner = "the " + kind + " " + agentapi.Named(result.Owner)
	}
	if result.Number != 0 {
		message = fmt.Sprintf("the server's error %d: %s", result.Number, result.Message)
	}
	switch {
	case errors.Is(err, calls.ErrPending): // the answer itself ends the wait
		return Blocker{Reason: v1alpha1.ReasonAgentUnreachable, Message: "waiting for the primary's agent: " + err.Error(),
			Transient: true, RetryAfter: ResyncPeriod}
	case err != nil:
		return Blocker{Reason: v1alpha1.ReasonAgentUnreachable, Message: err.Error(), Transient: true,
			RetryAfter: WaitInterval}
	case result.Reason == "":
		return Blocker{}
	case result.Reason == agentapi.SQLNotServed:
		return Blocker{Reason: v1alpha1.ReasonWaitingCluster, Message: message, Transient: true, RetryAfter: WaitInterval}
	case result.Reason == agentapi.SQLExists:
		return Blocker{Reason: v1alpha1.ReasonExistsAlready, RetryAfter: RefusedInterval,
			Message: fmt.Sprintf(
				"%s exists and was not made by a %s: choose another name, or take it over with spec.adopt: true", what, kind)}
	case result.Reason == agentapi.SQLOwned:
		return Blocker{Reason: v1alpha1.ReasonOwnedByAnother, RetryAfter: RefusedInterval,
			Message: fmt.Sprintf(
				"%s belongs to %s: choose another name. With spec.adopt: true it is taken over if that one is of another "+
					"cluster, or once that one is deleted", what, owner)}
	case result.Reason == agentapi.SQLForeign:
		return Blocker{Reason: v1alpha1.ReasonGrantNotAllowed, RetryAfter: RefusedInterval, Message: users.Foreign(message)}
	case result.Reason == agentapi.SQLNoPlugin:
		return Blocker{Reason: v1alpha1.ReasonPluginMissing, RetryAfter: RefusedInterval,
			Message: message +
				": load it with spec.mariadb.config of the cluster (plugin_load_add: auth_ed25519 or auth_parsec), or choose " +
				"another spec.plugin"}
	case result.Reason == agentapi.SQLWaits:
		return Blocker{Reason: v1alpha1.ReasonGrantWaits, RetryAfter: 10 * time.Second,
			Message: message + "; it is granted when it exists"}
	}
	return Blocker{Reason: v1alpha1.ReasonServerRefused, RetryAfter: RefusedInterval,
		Message: message + "; correct the spec"}
}

// Waiting reports whether an object of a cluster is reconciled when the cluster changes: it waits for it, or the
// cluster has not begun yet, and does not have what was applied to one of its name before.
func Waiting(c client.Object, o client.Object, observed int64, conditions []metav1.Condition) bool {
	cluster, ok := c.(*v1alpha1.GaleraCluster)
	return ok && cluster.Status.ClusterUUID == "" || o.GetDeletionTimestamp() != nil || observed != o.GetGeneration() ||
		!meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
}

// MayEndWait lets through the changes of a cluster that may end a wait for it: its spec, its primary, and whether it
// takes changes now. Its status changes far more often.
var MayEndWait = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1alpha1.GaleraCluster)
	after, too := e.ObjectNew.(*v1alpha1.GaleraCluster)
	if !is || !too || before.Generation != after.Generation || before.UID != after.UID {
		return true
	}
	was, now := busy(before), busy(after)
	return before.Status.Primary != after.Status.Primary || before.Status.ClusterUUID != after.Status.ClusterUUID ||
		(was.Reason == "") != (now.Reason == "") || was.Leaseless != now.Leaseless
}}

// Bound is a GaleraUser or a GaleraDatabase.
type Bound interface {
	client.Object
	// Cluster returns the namespace and the name of the GaleraCluster, which never change.
	Cluster() (namespace, name string)
}

// GoneForGood reports whether the resource that is marked as an owner in a cluster manages nothing there, so that its
// mark may be replaced: it no longer exists, or is of another cluster, with whose data the mark has come. o is an empty
// one of its kind.
func GoneForGood(ctx context.Context, live client.Reader, owner string, c *v1alpha1.GaleraCluster, o Bound) (bool,
	error) {
	namespace, name, ok := strings.Cut(agentapi.Named(owner), "/")
	if !ok {
		return false, nil
	}
	if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	ofNamespace, of := o.Cluster()
	return ofNamespace != c.Namespace || of != c.Name, nil
}

// Predecessor reports whether the answer to a drop names the mark of an earlier object of the same name, while the
// object that is deleted is still there: so no later one can have that mark, and it may be replaced. The object is read
// past the cache into o, an empty one of its kind.
func Predecessor(ctx context.Context, live client.Reader, by agentapi.SQLOwner, result agentapi.SQLResult,
	deleted, o client.Object) (bool, error) {
	if result.Reason != agentapi.SQLOwned || !by.Again(result.Owner) {
		return false, nil
	}
	err := live.Get(ctx, client.ObjectKeyFromObject(deleted), o)
	return err == nil && o.GetUID() == deleted.GetUID(), client.IgnoreNotFound(err)
}
