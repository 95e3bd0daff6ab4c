package archiving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/publish"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// alike is since when the nodes of clusters end as they do. It is lost with the operator: it is waited for again then.
type alike struct {
	mu    sync.Mutex
	since map[types.NamespacedName]unchanged
}

type unchanged struct {
	ends       []archival.End
	generation int64
	at         time.Time
}

// see returns since when the nodes of a cluster end as they do now, and its spec has this generation.
func (a *alike) see(key types.NamespacedName, ends []archival.End, generation int64, now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(ends) == 0 {
		delete(a.since, key)
		return time.Time{}
	}
	before, ok := a.since[key]
	if ok && before.generation == generation && slices.Equal(before.ends, ends) {
		return before.at
	}
	if a.since == nil {
		a.since = map[types.NamespacedName]unchanged{}
	}
	a.since[key] = unchanged{ends, generation, now}
	return now
}

// lost reports whether the status has lost that nodes refuse writes for another site: nothing is begun before the
// cluster's controller has restored that.
func (r *Reconciler) lost(ctx context.Context, c *v1alpha1.GaleraCluster) (bool, error) {
	s := c.Status.SwitchSite
	if c.Spec.SwitchSite == nil || s != nil && s.Phase != v1alpha1.SwitchTakenBack {
		return false, nil
	}
	config := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.ConfigMapName(c)}, config)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	published := publish.Published(config)
	return published.SwitchNumber() > 0 && (s == nil || s.Number < published.Switching), nil
}

// ends is where all nodes end: those that the spec has, and others that there are still; and since when that is so. An
// arbitrator has no data.
func (r *Reconciler) ends(c *v1alpha1.GaleraCluster) (out []archival.End, since time.Time) {
	key := client.ObjectKeyFromObject(c)
	if c.SwitchNumber() == 0 {
		return nil, r.alike.see(key, nil, 0, time.Time{})
	}
	seen := r.Agents.Seen(key)
	names := map[string]bool{}
	for name := range seen {
		names[name] = true
	}
	for i := range int(max(c.Spec.Replicas, c.Status.Replicas)) {
		names[fmt.Sprintf("%s-%d", c.Name, i)] = true
	}
	delete(names, resources.ArbitratorName(c))
	for name := range names {
		out = append(out, endOf(name, seen[name], len(names)))
	}
	slices.SortFunc(out, func(a, b archival.End) int { return cmp.Compare(a.Node, b.Node) })
	return out, r.alike.see(key, out, c.Generation, r.Now())
}

// endOf is where a node ends, of so many. Nothing is known of one that does not answer.
func endOf(name string, seen observe.Seen, nodes int) archival.End {
	r, out := seen.Report, archival.End{Node: name}
	if !seen.Live || r.Server == nil {
		return out
	}
	out.By, out.Position = r.Closed.By, r.Closed.Position
	out.Settled = r.Server.State == galera.NodeSynced && r.Server.Component == galera.ComponentPrimary &&
		r.Server.ReceiveQueue == 0 && r.Server.Size >= nodes
	return out
}

// pause removes the archiver of a cluster that another one has taken over from, once it follows that one: its nodes log
// what it follows.
func (r *Reconciler) pause(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if err := r.expire(ctx, c); err != nil || v1alpha1.Replaced(c) == "" {
		return err
	}
	lease := r.endLease(ctx, c)
	d := &appsv1.Deployment{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.ArchiverName(c)}, d); err != nil {
		return errors.Join(lease, client.IgnoreNotFound(err))
	}
	return errors.Join(lease, ownership.Remove(ctx, r.Client, r.Live, c.UID, d))
}

// expire removes from the status what archives have needed whose windows have passed.
func (r *Reconciler) expire(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	left := archival.Remembered(c.Status.EndedArchive, r.Today())
	if equality.Semantic.DeepEqual(c.Status.EndedArchive, left) {
		return nil
	}
	c.Status.EndedArchive = left
	return r.Status().Update(ctx, c)
}

// forgetEnds stores that it is not known where nodes end: nothing is read from now on, and a cluster is emptied by it.
func (r *Reconciler) forgetEnds(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	if s := c.Status.SwitchSite; s == nil || s.Ends == "" {
		return nil
	}
	c = c.DeepCopy()
	unknown(c)
	return r.Status().Update(ctx, c)
}

// unknown forgets where nodes end: without an archiver nothing is known of that from now on.
func unknown(c *v1alpha1.GaleraCluster) {
	if s := c.Status.SwitchSite; s != nil {
		s.Ends, s.EndsGeneration = "", 0
	}
}
