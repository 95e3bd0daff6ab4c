package galeracluster

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/publish"
)

// restore adds to the cluster what its status has lost. That nodes refuse writes for another site, or accept them by
// the lease only, is written down before anything else is done: other controllers go by the status, too.
func (r *Reconciler) restore(ctx context.Context, f *observe.Facts) error {
	seen, published := r.Agents.Seen(client.ObjectKeyFromObject(f.Cluster)), publish.Published(f.Config)
	before := f.Cluster
	f.Cluster = observe.Accepting(*f, seen, published)
	f.Cluster = observe.Leased(*f, seen, published)
	f.Cluster = observe.Closed(*f, seen, published)
	f.Cluster = observe.Superseded(*f, seen, published)
	if f.Cluster == before || f.Cluster.Paused() {
		return nil
	}
	return r.Status().Update(ctx, f.Cluster)
}
