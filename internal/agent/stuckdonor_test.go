//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestStuckDonor ends a transfer while its donor has no quorum: mariadbd is a donor forever then, reports
// so, and a restart by order helps. It is part of make test-full.
func TestStuckDonor(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = limited / 4 })
	s := &scenario{T: t, world: w}
	s.formLarge()
	donor, joiner := s.node(0), s.node(1)
	s.inTransfer(joiner)
	w.run(exec.Command("docker", "pause", joiner.container()))
	lone := donor.until("without quorum", 60*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.Component == galera.ComponentNonPrimary && r.Donation != nil
	})
	donor.exec("bash", "-c",
		`for p in /proc/[0-9]*; do if [ "$(cat "$p/comm")" = socat ]; then kill -9 "${p#/proc/}"; fi; done`)
	donor.until("done with giving", 30*time.Second, func(r agentapi.Report) bool { return r.Donation == nil })
	joiner.stop(false)

	s.epoch++
	o, _ := donor.send(agentapi.OrderRebuildQuorum, s.epoch, lone.Position, s.uuid)
	r := donor.until("known to be a donor for ever", 90*time.Second,
		func(r agentapi.Report) bool { return done(o.ID)(r) && r.StuckDonor })
	if r.Server.State != galera.NodeDonor || r.Server.Component != galera.ComponentPrimary {
		t.Errorf("%+v", *r.Server)
	}

	s.epoch++
	donor.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
	r = donor.until("down", 60*time.Second, waiting) // and not back: there is no peer to join
	s.epoch++
	if _, result := donor.send(agentapi.OrderBootstrap, s.epoch, r.Position,
		s.uuid); result.State != agentapi.OrderAccepted {
		t.Fatalf("%+v", result)
	}
	donor.until("Synced", 60*time.Second, func(r agentapi.Report) bool { return synced(1)(r) && !r.StuckDonor })
	joiner.start()
	joiner.until("Synced", 3*time.Minute, synced(2))
	s.intact()
}
