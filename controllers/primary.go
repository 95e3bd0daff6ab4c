package controllers

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/internal/conditions"
)

// tellTime bounds the telling of one agent, which answers from its memory.
const tellTime = 2 * time.Second

// tellPrimary lets agents that believe otherwise know which member clients are sent to: it is the last
// to give its data to others. One that could not be told is told at the next pass.
func (r *GaleraClusterReconciler) tellPrimary(ctx context.Context, in conditions.Input) {
	primary := in.Facts.Cluster.Status.Primary
	if primary == "" {
		return
	}
	key := client.ObjectKeyFromObject(in.Facts.Cluster)
	for name, s := range in.Seen {
		target, followed := r.Agents.Target(key, name)
		if !s.Live || s.Report.Primary == primary || !followed {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, tellTime)
		if err := r.Agents.Client.TellPrimary(ctx, target, primary); err != nil {
			log.FromContext(ctx).V(1).Info("an agent could not be told the primary", "pod", name, "error", err.Error())
		}
		cancel()
	}
}
