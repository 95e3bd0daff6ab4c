package galeracluster

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/status"
)

// copyEventStatuses lets every node have the same status of each scheduled event. What could not be delivered is sent
// again in the next pass.
func (r *Reconciler) copyEventStatuses(ctx context.Context, in status.Input) {
	of := map[string]*agentapi.Scheduled{}
	for name, s := range in.Seen {
		if s.Live && s.Report.Scheduled != nil {
			of[name] = s.Report.Scheduled
		}
	}
	key := client.ObjectKeyFromObject(in.Facts.Cluster)
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for name, changes := range agentapi.StatusChanges(of) {
		target, followed := r.Agents.Target(key, name)
		if !followed {
			continue
		}
		all.Go(func() {
			if err := r.Agents.Client.ChangeEvents(ctx, target, changes); err != nil {
				log.FromContext(ctx).V(1).Info("could not send the statuses of events", "pod", name, "error", err.Error())
			}
		})
	}
}
