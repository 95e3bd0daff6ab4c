package galeracluster

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/status"
)

// tellTime bounds the telling of all agents, which answer from their memory: one that does not holds up no other.
const tellTime = 2 * time.Second

// tellPrimary lets agents that believe otherwise know which member clients are sent to: it is the last
// to give its data to others. One that could not be told is told at the next pass.
func (r *Reconciler) tellPrimary(ctx context.Context, in status.Input) {
	primary := in.Facts.Cluster.Status.Primary
	if primary == "" {
		return
	}
	key := client.ObjectKeyFromObject(in.Facts.Cluster)
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for name, s := range in.Seen {
		target, followed := r.Agents.Target(key, name)
		if !s.Live || s.Report.Primary == primary || !followed {
			continue
		}
		all.Go(func() {
			if err := r.Agents.Client.TellPrimary(ctx, target, primary); err != nil {
				log.FromContext(ctx).V(1).Info("an agent could not be told the primary", "pod", name, "error", err.Error())
			}
		})
	}
}

// labelRoles lets the pods' labels follow the primary's Service, which has just changed when the role was moved.
func (r *Reconciler) labelRoles(ctx context.Context, in status.Input) error {
	if _, moved := in.Decision.Action.(plan.AssignRoles); moved {
		return nil
	}
	return r.Actor.LabelRoles(ctx, in.Facts)
}
