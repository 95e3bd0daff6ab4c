//go:build integration

package agent_test

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestFreedPagesInClear: what is left in clear after a switch, in pages that InnoDB does not use, asks for a restart of
// the node, which overwrites it. After a crash it stays, and asks again. The data, crash recovery and a full copy of
// such a volume are as before.
func TestFreedPagesInClear(t *testing.T) {
	for name, series := range map[string]string{"11.8": image, "10.11": oldImage} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, fingerprints := keys(t)
			give := func(state string) func(c *agentapi.NodeConfig) {
				return func(c *agentapi.NodeConfig) {
					c.AtRest = &agentapi.AtRest{State: state, Algorithm: "AES_CTR", Keys: fingerprints, CacheInMemory: true}
				}
			}
			w := newWorld(t, 3, give(agentapi.AtRestPrepared)) // quorum outlives a crash
			s := &scenario{T: t, world: w}
			for _, n := range w.nodes {
				n.image = series
				n.mount("keys", files)
			}
			s.wait()
			s.form()
			s.epoch = 2
			s.node(0).mustSQL("USE app; CREATE TABLE app.m (id INT PRIMARY KEY, v VARCHAR(100)); " +
				"INSERT INTO app.m SELECT seq, CONCAT('" + marker + "', seq) FROM seq_1_to_20000")
			s.write(0)
			s.intact()
			for _, n := range w.nodes { // or pages are freed before they are written
				n.mustSQL("SET SESSION wsrep_on = OFF, sql_log_bin = OFF; FLUSH TABLES app.m FOR EXPORT; UNLOCK TABLES")
			}
			s.node(0).mustSQL("DELETE FROM app.m WHERE id > 100; UPDATE app.m SET v = REPEAT('x', 50)")
			s.write(0)
			s.intact()
			for _, n := range w.nodes {
				n.until("having purged", 60*time.Second, func(agentapi.Report) bool {
					return got(strconv.Atoi(n.mustSQL("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "+
						"VARIABLE_NAME = 'INNODB_HISTORY_LIST_LENGTH'")))(t) < 20
				})
			}
			w.publishConfig(give(agentapi.AtRestEncrypted))
			s.roll()

			left := func(r agentapi.Report) bool {
				return mode(agentapi.ModeEncrypts)(r) && r.AtRest.UnusedPages > 0 && r.Config.RestartNeeded
			}
			for _, n := range w.nodes {
				n.until("in need of a restart", 180*time.Second, left)
				if len(search(t, filepath.Join(n.base, "volume"), marker)) == 0 {
					t.Errorf("%s: nothing is in clear", n.name)
				}
			}
			killed := time.Now()
			s.node(1).killServer()
			s.node(1).until("in need of a restart after a crash", 120*time.Second, func(r agentapi.Report) bool {
				return left(r) && synced(len(w.nodes))(r) && r.Server.StartedAt.After(killed)
			})
			for _, n := range w.nodes {
				s.restart1(n)
				s.write(0)
			}
			for i, n := range w.nodes {
				n.until("proved", 90*time.Second, func(r agentapi.Report) bool {
					a := r.AtRest
					return mode(agentapi.ModeEncrypts)(r) && !a.FullAt.IsZero() && a.ClearFiles == 0 && !r.Config.RestartNeeded
				})
				if found := search(t, filepath.Join(n.base, "volume"), marker); len(found) > 0 {
					t.Errorf("%s: in clear: %v", n.name, found)
				}
				s.write(i)
			}

			killed = time.Now()
			s.node(1).killServer()
			s.node(1).until("serving after another crash", 120*time.Second, func(r agentapi.Report) bool {
				return synced(len(w.nodes))(r) && r.Server.StartedAt.After(killed) // or it has not noticed the crash yet
			})
			s.all(90 * time.Second)
			s.node(0).stop(true)
			s.node(0).wipe()
			s.node(0).start()
			s.all(90 * time.Second)
			s.intact()
			for _, n := range w.nodes {
				if got := n.mustSQL("CHECK TABLE app.m EXTENDED; SELECT COUNT(*), MIN(v) = REPEAT('x', 50) FROM app.m"); got !=
					"app.m\tcheck\tstatus\tOK\n100\t1" {
					t.Errorf("%s: %q", n.name, got)
				}
			}
		})
	}
}
