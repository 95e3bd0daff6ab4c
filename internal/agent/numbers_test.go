//go:build integration

package agent_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestNumbers: a node that was started after a transaction with sql_log_bin=0 numbers transactions differently than the
// others. One statement on the primary has all count from one number on.
func TestNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, func(c *agentapi.NodeConfig) {
		maps.Copy(c.Settings, map[string]string{"log_bin": "binlog", "log_slave_updates": "ON", "wsrep_gtid_mode": "ON",
			"gtid_domain_id": "1"})
	})
	s := &scenario{T: t, world: w}
	s.wait()
	s.form()
	s.node(0).mustSQL("CREATE TABLE app.numbers (id INT AUTO_INCREMENT PRIMARY KEY); INSERT INTO app.numbers VALUES ()")
	s.node(0).mustSQL("SET sql_log_bin = 0; INSERT INTO app.numbers VALUES ()")
	logged := s.logged()
	s.bootstrapAgain(s.node(0))
	if after := s.logged(); !slices.Equal(after, logged) {
		t.Errorf("all nodes were started again, and have logged since %v instead of %v", after, logged)
	}
	if n := s.numbered("INSERT INTO app.numbers VALUES ()"); n[0]+1 != n[1] || n[1] != n[2] {
		t.Fatalf("the numbers of one transaction are %v", n)
	}

	r, err := s.node(0).report()
	check(t, err)
	a := agentapi.Alignment{Seqno: r.Position.Seqno, Spread: 1, Size: 4}
	if got, err := s.align(a); err == nil || !strings.Contains(err.Error(), "has 3 members instead of 4") {
		t.Errorf("while a member is away: %+v, %v", got, err)
	}
	// The primary counts further than its binary log shows.
	s.node(0).mustSQL("SET sql_log_bin = 0; " + strings.Repeat("INSERT INTO app.numbers VALUES (); ", 600))
	a.Size = 3
	got, err := s.align(a)
	if check(t, err); got.Number == 0 {
		t.Errorf("%+v", got)
	}
	if same := s.numbered("INSERT INTO app.numbers VALUES ()"); fmt.Sprint(same) !=
		fmt.Sprint(slices.Repeat([]uint64{got.Number + 2}, 3)) { // the table was dropped again
		t.Errorf("aligned to %d, the numbers of one transaction are %v", got.Number, same)
	}
	for i := range s.world.nodes {
		s.awaitSQL(i, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'galera\\_operator%'", "0")
	}
	if again, err := s.align(a); err != nil || again.Number != 0 {
		t.Errorf("for what was seen before: %+v, %v", again, err)
	}
	s.ownLog()
}

// logged is since which position each node has written a binary log of its own.
func (s *scenario) logged() (out []galera.Position) {
	s.Helper()
	for _, n := range s.world.nodes {
		r := n.until("known to log", 30*time.Second, func(r agentapi.Report) bool { return r.LoggedSince.Known() })
		out = append(out, r.LoggedSince)
	}
	return out
}

// ownLog: after an SST the binary log of a node counts as its own from there on, and that of no other one.
func (s *scenario) ownLog() {
	s.Helper()
	before := s.logged()
	s.node(0).mustSQL("SET sql_log_bin = 0; INSERT INTO app.numbers VALUES ()")
	at := s.node(2).until("at all that was written", 30*time.Second, synced(3)).Position
	s.node(2).stop(true)
	check(s.T, os.RemoveAll(filepath.Join(s.node(2).base, "volume", "data"))) // what the agent has noted stays
	s.node(2).start()
	r, _ := s.followJoin(s.node(2), 90*time.Second, func(r agentapi.Report) {
		if r.LoggedSince.Known() && r.LoggedSince.Seqno < at.Seqno {
			s.Errorf("in an SST: %+v", r.LoggedSince)
		}
	})
	after := s.logged()
	if r.Join.Kind != agentapi.JoinSST || !slices.Equal(after[:2], before[:2]) || after[2].UUID != s.uuid ||
		after[2].Seqno < at.Seqno {
		s.Errorf("after an SST (%s) at %s the nodes have logged since %v, and before it since %v", r.Join.Kind, at, after,
			before)
	}
	s.node(2).stop(true)
	s.node(2).start()
	s.all(90 * time.Second)
	if again := s.logged(); !slices.Equal(again, after) {
		s.Errorf("node 2 was started again, and the nodes have logged since %v instead of %v", again, after)
	}
}

// bootstrapAgain stops all nodes, and has the last of them bootstrap.
func (s *scenario) bootstrapAgain(best *node) {
	s.Helper()
	for _, n := range s.world.nodes {
		if n != best {
			n.stop(true)
		}
	}
	best.stop(true)
	for _, n := range s.world.nodes {
		n.start()
	}
	for _, n := range s.world.nodes {
		n.until("waiting with its position", time.Minute, func(r agentapi.Report) bool {
			return waiting(r) && r.Position.Known()
		})
	}
	r, err := best.report()
	check(s.T, err)
	s.epoch += 10
	o, result := best.send(agentapi.OrderBootstrap, s.epoch, r.Position, s.uuid)
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	best.until("bootstrapped", 90*time.Second, done(o.ID))
	s.all(90 * time.Second)
}

func (s *scenario) align(a agentapi.Alignment) (agentapi.AlignmentResult, error) {
	ctx, cancel := context.WithTimeout(s.Context(), 30*time.Second)
	defer cancel()
	return s.world.client.AlignNumbers(ctx, s.node(0).ip, a)
}

// numbered writes on the last node, and returns the number that each node gives that.
func (s *scenario) numbered(statement string) (out []uint64) {
	s.Helper()
	s.node(2).mustSQL(statement)
	for _, n := range s.world.nodes {
		for gtid := range strings.SplitSeq(strings.TrimSpace(n.mustSQL("SET wsrep_sync_wait = 1; "+
			"SELECT @@gtid_binlog_pos")), ",") {
			var server, number uint64
			if _, err := fmt.Sscanf(gtid, "0-%d-%d", &server, &number); err == nil {
				out = append(out, number)
			}
		}
	}
	return out
}
