package galeracluster

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/status"
)

// requestEvictions asks members to evict terminated servers. If a member refuses or cannot be asked, only time is
// lost: the group's own timeout applies.
func (r *Reconciler) requestEvictions(ctx context.Context, in status.Input) {
	key := client.ObjectKeyFromObject(in.Facts.Cluster)
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for _, e := range plan.Evictions(in.Snapshot) {
		target, followed := r.Agents.Target(key, e.Member)
		if !followed {
			continue
		}
		all.Go(func() {
			err := r.Agents.Client.Evict(ctx, target, agentapi.Eviction{NodeUUID: e.NodeUUID, ViewID: e.ViewID})
			if err != nil {
				log.FromContext(ctx).V(1).Info("eviction not delivered: the member refused it or did not answer", "ended", e.Gone,
					"member", e.Member, "error", err.Error())
				return
			}
			log.FromContext(ctx).Info("evicted a server that has ended", "ended", e.Gone, "by", e.Member)
			r.Events.Eventf(in.Facts.Cluster, nil, corev1.EventTypeNormal, "Evicted", "Evict",
				"the mariadbd of %s has ended; %s has evicted it from the group", e.Gone, e.Member)
		})
	}
}
