package scrape

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// Caches is the metric that shows whether the operator's caches have been filled. It is a manager's runnable without
// election: a manager starts these once its caches are filled.
type Caches struct{ prometheus.Gauge }

// NewCaches returns the metric, at 0.
func NewCaches() Caches {
	return Caches{prometheus.NewGauge(prometheus.GaugeOpts{Name: "galera_operator_caches_synced",
		Help: "Whether the operator's caches have been filled since it started; until then it does nothing."})}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica has caches.
func (Caches) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (c Caches) Start(context.Context) error {
	c.Set(1)
	return nil
}
