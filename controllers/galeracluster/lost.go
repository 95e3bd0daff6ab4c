package galeracluster

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/publish"
)

// restore adds to the cluster what its status has lost. That nodes refuse writes for another site is written down
// before anything else is done: other controllers go by the status, too.
func (r *Reconciler) restore(ctx context.Context, f *observe.Facts) error {
	seen, published := r.Agents.Seen(client.ObjectKeyFromObject(f.Cluster)), publish.Published(f.Config)
	f.Cluster = observe.Accepting(*f, seen, published)
	closed := observe.Closed(*f, seen, published)
	if closed == f.Cluster {
		return nil
	}
	f.Cluster = closed
	if closed.Paused() {
		return nil
	}
	return r.Status().Update(ctx, closed)
}
