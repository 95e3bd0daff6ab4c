//go:build integration

package agent_test

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

// TestCluster runs three agents with real mariadbds through a cluster's life.
func TestCluster(t *testing.T) {
	w := newWorld(t, 3, nil)
	for _, n := range w.nodes {
		n.start()
	}
	for _, n := range w.nodes {
		r := n.until("waiting and empty", 20*time.Second, waiting)
		if r.Data != cluster.DataEmpty || r.Position.Known() {
			t.Fatalf("%s: %+v", n.name, r)
		}
	}
	first := w.nodes[0]
	began := time.Now()
	o, result := first.send(agentapi.OrderInitialise, 1, cluster.Position{}, "")
	if result.State != agentapi.OrderAccepted {
		t.Fatalf("%+v", result)
	}
	r := first.until("initialised", 60*time.Second, done(o.ID))
	t.Logf("initialise: %s", time.Since(began))
	t.Logf("%+v", r.Server)
	for _, n := range w.nodes[1:] {
		r := n.until("synced", 15*time.Second, func(r agentapi.Report) bool { return r.Server != nil && r.Server.State == cluster.NodeSynced })
		t.Logf("%s joined: %s %+v", n.name, time.Since(began), r.Join)
	}
	t.Log(first.mustSQL("SHOW STATUS LIKE 'wsrep_cluster_size'"))
}
