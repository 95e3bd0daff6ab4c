//go:build integration

package agent_test

import (
	"os"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestLostDonor kills the only donor while it gives to one joiner, and the other one waits for it: both are ended, so
// that the donor can be bootstrapped when it is back. It is part of make test-full.
func TestLostDonor(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	w := newWorld(t, 3, nil)
	s := &scenario{T: t, world: w}
	s.formLarge()
	w.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = limited / 4 })
	s.awaitConfig()
	donor, joiners := s.node(0), w.nodes[1:]
	for _, n := range joiners {
		n.stop(true)
		n.wipe()
	}
	donor.until("alone", time.Minute, synced(1))
	for _, n := range joiners {
		n.start()
	}
	donor.until("giving to one of both", 2*time.Minute, func(r agentapi.Report) bool {
		return r.Donation != nil && r.Server != nil && r.Server.Size == 3
	})
	receiving := 0
	for _, n := range joiners {
		n.until("joining", time.Minute, func(r agentapi.Report) bool {
			return r.Join != nil && r.Phase == galera.PhaseStarting
		})
		if r, err := n.report(); err == nil && r.Join != nil && r.Join.Phase != agentapi.JoinWaiting {
			receiving++
		}
	}
	if receiving > 1 {
		t.Fatal("no joiner waits for the donor")
	}
	lost := time.Now()
	donor.stop(false)
	donor.start()
	r := donor.until("down", time.Minute, waiting)
	for _, n := range joiners {
		n.until("ended", 25*time.Second, waiting)
	}
	t.Logf("both joiners were ended %s after the donor was lost", time.Since(lost).Round(time.Second))
	s.epoch++
	if _, result := donor.send(agentapi.OrderBootstrap, s.epoch, r.Position, s.uuid); result.State !=
		agentapi.OrderAccepted {
		t.Fatalf("%+v", result)
	}
	w.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = 0 })
	s.all(4 * time.Minute)
	s.intact()
}
