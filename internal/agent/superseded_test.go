//go:build integration

package agent_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestSupersededNodes: nodes of a cluster that another one has taken over from refuse the writes of clients without a
// restart, and from the start of the next server on. They accept them again when that was overruled. Both are so also
// while mariadbd refuses the published settings.
func TestSupersededNodes(t *testing.T) {
	t.Parallel()
	s := &scenario{T: t, world: newWorld(t, 2, func(c *agentapi.NodeConfig) {
		c.Settings["log_bin"], c.Settings["log_slave_updates"], c.Settings["wsrep_gtid_mode"] = "binlog", "ON", "ON"
	})}
	s.wait()
	s.form()
	s.node(0).mustSQL("CREATE DATABASE sites; CREATE TABLE sites.t (id INT PRIMARY KEY); " +
		"CREATE OR REPLACE USER app IDENTIFIED BY 'x'; GRANT ALL ON sites.* TO app")
	refused := func(want bool) {
		t.Helper()
		for _, n := range s.world.nodes {
			out, err := exec.Command("docker", "exec", n.container(), "mariadb", "--no-defaults",
				"--skip-ssl-verify-server-cert", "--ssl", "--host=127.0.0.1", "--user=app", "--password=x", "-e",
				"REPLACE INTO sites.t VALUES (1)").CombinedOutput()
			if (err != nil) != want || want && !strings.Contains(string(out), "1290") {
				t.Errorf("%s: %v: %s", n.name, err, out)
			}
		}
	}
	refused(false)
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Refuse, c.Switching = true, 7 })
	for _, n := range s.world.nodes {
		r := n.until("refusing writes", 90*time.Second, func(r agentapi.Report) bool {
			return r.Refuses && r.Closed.By == 7 && r.Refusal.Switching == 7
		})
		if r.Config.RestartNeeded {
			t.Errorf("%s is to be restarted for it", n.name)
		}
		if end := n.mustSQL("SELECT @@GLOBAL.gtid_binlog_pos"); r.Closed.Position == "" || r.Closed.Position != end {
			t.Errorf("%s is reported to end at %q instead of %q", n.name, r.Closed.Position, end)
		}
	}
	refused(true)
	o, result := s.node(1).send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
	if result.State != agentapi.OrderAccepted {
		t.Fatalf("%+v", result)
	}
	s.node(1).until("restarted", time.Minute, done(o.ID))
	s.all(time.Minute)
	refused(true)
	accept := func() {
		t.Helper()
		s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Refuse = false })
		for i := range s.world.nodes {
			s.awaitSQL(i, "SELECT @@read_only", "0")
		}
		refused(false)
	}
	accept()
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Settings["no_such_setting"] = "1" })
	for _, n := range s.world.nodes {
		n.until("refusing a setting", time.Minute, func(r agentapi.Report) bool {
			return r.Config.Reason == agentapi.ConfigSettings && !r.Refuses
		})
	}
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.Refuse, c.Switching = true, 8 })
	for _, n := range s.world.nodes {
		n.until("refusing writes, and a setting", 90*time.Second, func(r agentapi.Report) bool {
			return r.Config.Reason == agentapi.ConfigSettings && r.Refuses && r.Closed.By == 8 && !r.Config.RestartNeeded
		})
	}
	refused(true)
	accept()
	s.intact()
}
