//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestFrozenJoiner freezes a joiner in the middle of its SST: the kernel of its host answers its donor, and none of its
// programs runs. The donor ends the transfer, and can give to another one. It is part of make test-full.
func TestFrozenJoiner(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	const stall = 30 * time.Second
	w := newWorld(t, 3, nil)
	s := &scenario{T: t, world: w}
	s.formLarge()
	w.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer.RateLimit, c.StateTransfer.StallSeconds = limited/4, int64(stall/time.Second)
	})
	s.awaitConfig()
	donor, joiner := s.node(1), s.node(2) // shop-0 is the primary
	joiner.stop(true)
	joiner.wipe()
	joiner.start()
	joiner.until("receiving", time.Minute, func(r agentapi.Report) bool {
		return r.Join != nil && r.Join.Phase == agentapi.JoinTransferring && r.Join.Donor == donor.name
	})
	w.run(exec.Command("docker", "pause", joiner.container()))
	frozen := time.Now()
	donor.until("Synced again", stall+2*time.Minute, func(r agentapi.Report) bool {
		return r.Donation == nil && r.Server != nil && r.Server.State == galera.NodeSynced
	})
	t.Logf("the donor was Synced again after %s", time.Since(frozen).Round(time.Second))
	if out, _ := exec.Command("docker", "logs", donor.container()).CombinedOutput(); !strings.Contains(string(out),
		"joiner takes no data") {
		t.Error("the donor did not end the transfer")
	}
	w.run(exec.Command("docker", "unpause", joiner.container()))
	joiner.until("Synced", 4*time.Minute, synced(3))
	s.intact()
}
