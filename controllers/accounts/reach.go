// Package accounts is what the controllers of GaleraUsers and GaleraDatabases have in common: which cluster, whether it may be changed
// now, and what an agent's answer means.
package accounts

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
	"github.com/galera-operator/galera-operator/internal/accounts"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

const (
	// Soon is the first interval while something is waited for that sends no event; the intervals grow (retry.Pauses).
	Soon = 3 * time.Second
	// Seldom is how often a refusal by the server is tried again: each try may stop the cluster for a moment.
	Seldom = time.Minute
	// Look is how often what is applied is read again, to corrected what was changed by hand.
	Look = 5 * time.Minute
)

// Agents are those of the clusters.
type Agents interface {
	Seen(key types.NamespacedName) map[string]observe.Seen
	Target(key types.NamespacedName, pod string) (observe.Target, bool)
}

// Hindrance is why something is not applied.
type Hindrance struct {
	Reason, Message string
	// Passes reports whether what was applied before stays in force: the cluster is busy, or cannot be reached.
	Passes bool
	Again  time.Duration
}

// Reach finds clusters.
type Reach struct {
	client.Reader
	// Live reads past the cache.
	Live   client.Reader
	Agents Agents
	// Labels remembers the labels of namespaces; nil remembers none.
	Labels *Labels
}

// Cluster returns the cluster that an object of a namespace names, nil when there is none. The hindrance is empty when the cluster takes
// changes from that namespace now.
func (r Reach) Cluster(ctx context.Context, from, namespace, name string) (*v1alpha1.GaleraCluster, Hindrance, error) {
	c := &v1alpha1.GaleraCluster{}
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c)
	if client.IgnoreNotFound(err) != nil {
		return nil, Hindrance{}, err
	}
	if err != nil {
		c = nil
	}
	if from != namespace {
		// Whether there is a cluster of that name is disclosed only to namespaces that may use it.
		admitted, err := r.admitted(ctx, c, from)
		if err != nil || !admitted {
			return nil, Hindrance{Reason: v1alpha1.ReasonNamespaceRefused, Again: Look,
				Message: fmt.Sprintf("no GaleraCluster %s/%s takes users and databases from the namespace %s: its spec.allowedNamespaces must select this namespace's labels", namespace, name, from)}, err
		}
	}
	if c == nil {
		return nil, Hindrance{Reason: v1alpha1.ReasonClusterNotFound, Again: Look,
			Message: fmt.Sprintf("there is no GaleraCluster %q in the namespace %s: create it, or delete this object", name, namespace)}, nil
	}
	return c, busy(c), nil
}

func (r Reach) admitted(ctx context.Context, c *v1alpha1.GaleraCluster, namespace string) (bool, error) {
	if c == nil || c.Spec.AllowedNamespaces == nil {
		return false, nil
	}
	labels, found, err := r.Labels.of(ctx, r.Live, namespace)
	if err != nil || !found {
		return false, err
	}
	return accounts.Admits(c, namespace, labels)
}

// busy returns the reason why nothing is written to a cluster now. One that has not begun yet, though a cluster of its
// name may have been there before, has nothing that was applied.
func busy(c *v1alpha1.GaleraCluster) Hindrance {
	h := Hindrance{Reason: v1alpha1.ReasonWaitingCluster, Passes: c.Status.ClusterUUID != "", Again: Look} // its end is an event: Turns
	switch op := c.Status.Operation; {
	case c.DeletionTimestamp != nil:
		h.Message = "the cluster is being deleted"
	case c.Paused():
		h.Reason, h.Message = v1alpha1.ReasonClusterPaused, "the cluster is paused (annotation galera-operator.io/pause)"
	case c.Spec.Hibernate:
		h.Message = "the cluster hibernates"
	case op != nil:
		h.Message = fmt.Sprintf("waiting for the cluster's operation %s to end", op.Type)
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable):
		h.Message = "waiting for the cluster to accept writes"
	default:
		return Hindrance{}
	}
	return h
}

// Primary returns the agent to ask: that of the primary.
func (r Reach) Primary(c *v1alpha1.GaleraCluster) (observe.Target, Hindrance) {
	key := client.ObjectKeyFromObject(c)
	seen := r.Agents.Seen(key)[c.Status.Primary]
	target, followed := r.Agents.Target(key, c.Status.Primary)
	if !followed || !seen.Live || seen.Report.Server == nil || seen.Report.Server.State != galera.NodeSynced {
		return target, Hindrance{Reason: v1alpha1.ReasonAgentUnreachable, Passes: true, Again: Soon,
			Message: "waiting for the agent of the primary " + cmp.Or(c.Status.Primary, "node")}
	}
	return target, Hindrance{}
}

// Others returns the agents of the other nodes that serve, in the order of their names.
func (r Reach) Others(c *v1alpha1.GaleraCluster) (out []observe.Target) {
	key := client.ObjectKeyFromObject(c)
	for pod, seen := range r.Agents.Seen(key) {
		if t, followed := r.Agents.Target(key, pod); followed && seen.Live && seen.Report.Server != nil && pod != c.Status.Primary {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b observe.Target) int { return cmp.Compare(a.Pod, b.Pod) })
	return out
}

// Answer returns what an agent's answer about a thing means, and what is to be done about it.
func Answer(what, kind string, result agentapi.SQLResult, err error) Hindrance {
	message, owner := result.Message, "another namespace"
	if result.Owner != "" {
		owner = "the " + kind + " " + agentapi.Named(result.Owner)
	}
	if result.Number != 0 {
		message = fmt.Sprintf("the server's error %d: %s", result.Number, result.Message)
	}
	switch {
	case errors.Is(err, calls.ErrPending): // the answer itself ends the wait
		return Hindrance{Reason: v1alpha1.ReasonAgentUnreachable, Message: "waiting for the primary's agent: " + err.Error(), Passes: true, Again: Look}
	case err != nil:
		return Hindrance{Reason: v1alpha1.ReasonAgentUnreachable, Message: err.Error(), Passes: true, Again: Soon}
	case result.Reason == "":
		return Hindrance{}
	case result.Reason == agentapi.SQLNotServed:
		return Hindrance{Reason: v1alpha1.ReasonWaitingCluster, Message: message, Passes: true, Again: Soon}
	case result.Reason == agentapi.SQLExists:
		return Hindrance{Reason: v1alpha1.ReasonExistsAlready, Again: Seldom,
			Message: fmt.Sprintf("%s exists and was not made by a %s: choose another name, or take it over with spec.adopt: true", what, kind)}
	case result.Reason == agentapi.SQLOwned:
		return Hindrance{Reason: v1alpha1.ReasonOwnedByAnother, Again: Seldom,
			Message: fmt.Sprintf("%s belongs to %s: choose another name, delete that one, or, once it is gone, take this over with spec.adopt: true", what, owner)}
	case result.Reason == agentapi.SQLForeign:
		return Hindrance{Reason: v1alpha1.ReasonGrantRefused, Again: Seldom, Message: accounts.Foreign(message)}
	case result.Reason == agentapi.SQLNoPlugin:
		return Hindrance{Reason: v1alpha1.ReasonPluginMissing, Again: Seldom,
			Message: message + ": load it with spec.mariadb.config of the cluster (plugin_load_add: auth_ed25519 or auth_parsec), or choose another spec.plugin"}
	case result.Reason == agentapi.SQLWaits:
		return Hindrance{Reason: v1alpha1.ReasonMissingObject, Again: 10 * time.Second, Message: message + "; it is granted when it exists"}
	}
	return Hindrance{Reason: v1alpha1.ReasonServerRefused, Again: Seldom, Message: message + "; correct the spec"}
}

// Waiting reports whether an object of a cluster is reconciled when the cluster changes: it waits for it, or the
// cluster has not begun yet, and does not have what was applied to one of its name before.
func Waiting(c client.Object, o client.Object, observed int64, conditions []metav1.Condition) bool {
	cluster, ok := c.(*v1alpha1.GaleraCluster)
	return ok && cluster.Status.ClusterUUID == "" || o.GetDeletionTimestamp() != nil || observed != o.GetGeneration() ||
		!meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)
}

// Turns lets through the changes of a cluster that may end a wait for it: its spec, its primary, and whether it takes changes now. Its status
// changes far more often.
var Turns = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*v1alpha1.GaleraCluster)
	after, too := e.ObjectNew.(*v1alpha1.GaleraCluster)
	return !is || !too || before.Generation != after.Generation || before.UID != after.UID || before.Status.Primary != after.Status.Primary ||
		before.Status.ClusterUUID != after.Status.ClusterUUID || (busy(before).Reason == "") != (busy(after).Reason == "")
}}

// Gone reports whether a resource that is marked as an owner no longer exists: its mark may be replaced then.
func Gone(ctx context.Context, live client.Reader, owner string, o client.Object) (bool, error) {
	namespace, name, ok := strings.Cut(agentapi.Named(owner), "/")
	if !ok {
		return false, nil
	}
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}
