//go:build integration

package agent_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestOvertakenTransfer writes over the donor's redo log while a slow SST copies it: the joiner reports what its donor
// has found, and what to do, and that helps. It is part of make test-full.
func TestOvertakenTransfer(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) { c.Settings["innodb_log_file_size"] = "4M" })
	s := &scenario{T: t, world: w}
	s.formLarge()
	w.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = limited / 2 })
	s.awaitConfig()
	donor, joiner := s.node(0), s.node(1)
	s.inTransfer(joiner)
	end := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			select {
			case <-end:
				return
			default: // more than the redo log holds
				_, _ = donor.sql("UPDATE app.t SET filler = REPEAT(RANDOM_BYTES(1024), 8192) WHERE id = 1")
			}
		}
	})
	r := joiner.until("failed, with the reason", 3*time.Minute, func(r agentapi.Report) bool {
		return r.Failure != nil && strings.Contains(r.Failure.Message, "raise innodb_log_file_size")
	})
	close(end)
	writing.Wait()
	t.Log(r.Failure.Message)
	if r.Failure.Reason != agentapi.FailureTransfer || !strings.HasPrefix(r.Failure.Message, "SST from shop-0 failed: ") {
		t.Errorf("%+v", r.Failure)
	}
	w.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.RateLimit = 0 })
	if back := joiner.until("back", 3*time.Minute, synced(2)); back.Failure != nil {
		t.Errorf("%+v", back.Failure)
	}
	s.intact()
}
