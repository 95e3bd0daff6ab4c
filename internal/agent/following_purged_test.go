//go:build integration

package agent_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const errPurged = 1236

// TestPurgedSource: a node whose source has deleted what the node needs next reports that, also while it tries again,
// until it goes on. The source takes a while to answer.
func TestPurgedSource(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	t.Parallel()
	s := newFollowing(t, 1, image)
	n := s.world.nodes[0]
	s.form()
	s.primary(0)
	s.runsOn(0)
	s.hold(agentapi.HoldNow)
	s.stopWriting()
	s.purge()
	s.mustSource("SET GLOBAL init_connect = 'DO SLEEP(2)'")
	s.release()
	purged := func(r agentapi.Report) bool {
		return r.Following != nil && r.Following.Channel != nil && r.Following.Channel.ErrorNumber == errPurged
	}
	n.until("refused by the source", 90*time.Second, purged)
	tried := func() int {
		out, err := exec.Command("docker", "logs", n.container()).CombinedOutput()
		check(t, err)
		return strings.Count(string(out), "the channel is On")
	}
	for before := tried(); tried() < before+2; {
		if r, err := n.report(); err != nil || !purged(r) {
			t.Fatalf("it no longer says so: %+v, %v", r.Following, err)
		}
	}
	s.socket(0, "STOP SLAVE; SET GLOBAL gtid_slave_pos = '"+s.mustSource(sourcePosition)+"'")
	n.until("following again", 90*time.Second, func(r agentapi.Report) bool {
		return r.Following != nil && r.Following.Channel != nil && r.Following.Channel.Error == "" &&
			r.Following.Channel.Connected
	})
}

// purge has the source write, and delete its binary log. A log that is read is kept: that its reader has gone shows
// with the next transaction.
func (s *following) purge() {
	s.Helper()
	s.mustSource("/*M!110400 SET GLOBAL slave_connections_needed_for_purge = 0 */")
	first := s.mustSource("SHOW BINARY LOGS")
	first, _, _ = strings.Cut(first, "\t")
	for deadline := time.Now().Add(time.Minute); strings.Contains(s.mustSource("SHOW BINARY LOGS"), first); {
		if time.Now().After(deadline) {
			s.Fatal("the source keeps its binary log")
		}
		s.mustSource("REPLACE INTO shop.t VALUES (-1, 'purged'); FLUSH BINARY LOGS; " +
			"PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
	}
}
