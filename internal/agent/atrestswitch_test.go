//go:build integration

package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestAtRestSwitch: a running cluster is encrypted, and decrypted, node by node. Nodes hold the keys before one writes
// with them; a full transfer goes well between nodes of different states; what was written in clear is rewritten, and
// the proof follows what is on the volumes. In the end no node needs a key.
func TestAtRestSwitch(t *testing.T) {
	t.Parallel()
	files, fingerprints := keys(t)
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) { c.Settings["log_bin"] = "binlog" })
	s := &scenario{T: t, world: w}
	for _, n := range w.nodes {
		n.start()
	}
	for _, n := range w.nodes {
		n.until("waiting", 20*time.Second, waiting)
	}
	s.form()
	s.epoch = 2
	s.node(0).mustSQL("USE app; CREATE TABLE app.m (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100), KEY (v)); " +
		"INSERT INTO app.m (v) SELECT CONCAT('" + marker + "', seq) FROM seq_1_to_5000")
	state := func(state string) {
		w.publishConfig(func(c *agentapi.NodeConfig) {
			c.AtRest = &agentapi.AtRest{State: state, Algorithm: "AES_CTR", Keys: fingerprints, CacheInMemory: true}
		})
	}

	state(agentapi.AtRestPrepared)
	first := s.node(0).until("without its keys", 30*time.Second, func(r agentapi.Report) bool {
		return r.Config.Loaded == w.config.Revision
	})
	if first.AtRest == nil || first.AtRest.Mode != "" || !strings.Contains(first.AtRest.Problem, "missing") {
		t.Errorf("without keys: %+v", first.AtRest)
	}
	stopped := time.Now()
	s.node(0).exec("kill", s.node(0).serverPID())
	s.node(0).until("restarted without keys", 60*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.StartedAt.After(stopped) && synced(len(w.nodes))(r)
	})
	s.replacePods(func(n *node) { n.mount("keys", files) })
	for _, n := range w.nodes {
		n.until("holding the keys", 30*time.Second, mode(agentapi.ModeHolds))
	}

	state(agentapi.AtRestEncrypted)
	n := s.node(1)
	s.restart1(n)
	n.until("encrypting", 30*time.Second, mode(agentapi.ModeEncrypts))
	// A full transfer from the node that encrypts to one that was not restarted for it yet.
	s.node(0).stop(true)
	s.node(0).wipe()
	s.node(0).start()
	s.all(90 * time.Second)
	s.write(0)
	s.intact()
	for _, n := range w.nodes {
		n.mustSQL("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 SECOND")
	}
	for _, n := range w.nodes {
		encrypted := func(r agentapi.Report) bool {
			a := r.AtRest
			return mode(agentapi.ModeEncrypts)(r) && !a.FullAt.IsZero() && a.ClearFiles == 0 && !a.CacheClear
		}
		if r := n.until("encrypted, but for unused pages", 180*time.Second, func(r agentapi.Report) bool {
			return encrypted(r) || mode(agentapi.ModeEncrypts)(r) && r.AtRest.UnusedPages > 0
		}); !encrypted(r) {
			s.restart1(n)
		}
		n.until("proved", 120*time.Second, encrypted)
		if found := search(t, filepath.Join(n.base, "volume"), marker); len(found) > 0 {
			t.Errorf("%s: in clear: %v", n.name, found)
		}
	}
	if os.Getenv("GALERA_SLOW") == "" {
		return
	}

	state(agentapi.AtRestDecrypted)
	s.roll()
	for _, n := range w.nodes {
		n.mustSQL("FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 SECOND")
	}
	for _, n := range w.nodes {
		n.until("decrypted", 180*time.Second, func(r agentapi.Report) bool {
			a := r.AtRest
			return mode(agentapi.ModeHolds)(r) && !a.FullAt.IsZero() && a.EncryptedFiles == 0
		})
	}
	w.publishConfig(func(c *agentapi.NodeConfig) { c.AtRest = nil })
	s.replacePods(nil)
	for _, n := range w.nodes {
		if got := n.mustSQL("SELECT COUNT(*), COUNT(DISTINCT v) FROM app.m"); got != "5000\t5000" {
			t.Errorf("%s: %s", n.name, got)
		}
		if found := search(t, filepath.Join(n.base, "volume"), marker); len(found) == 0 {
			t.Errorf("%s: nothing is in clear", n.name)
		}
	}
}

// mode returns whether a server does that with the keys.
func mode(want string) func(agentapi.Report) bool {
	return func(r agentapi.Report) bool {
		return r.AtRest != nil && r.AtRest.Mode == want && r.AtRest.Problem == ""
	}
}

// replacePods replaces one pod after the other, as after a change of the template.
func (s *scenario) replacePods(before func(*node)) {
	s.Helper()
	for i, n := range s.world.nodes {
		n.stop(true)
		if before != nil {
			before(n)
		}
		n.start()
		s.all(90 * time.Second)
		s.write(1 - i)
	}
	s.intact()
}

// restart1 restarts one node's server.
func (s *scenario) restart1(n *node) {
	s.Helper()
	n.until("configured", 30*time.Second, func(r agentapi.Report) bool { return r.Config.RestartNeeded })
	o, result := n.send(agentapi.OrderRestart, s.epoch, galera.Position{}, s.uuid)
	if result.State != agentapi.OrderAccepted {
		s.Fatalf("%+v", result)
	}
	n.until("restarted", 90*time.Second, done(o.ID))
	s.epoch++
	s.all(30 * time.Second)
}
