//go:build integration

package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
)

// marker is what is looked for on the disks.
const marker = "Zebrafinkenmarker"

// keys are files for KeysDir, and their fingerprints.
func keys(t *testing.T) (map[string][]byte, map[string]string) {
	t.Helper()
	file, password, err := atrest.Make()
	check(t, err)
	return map[string][]byte{atrest.KeyFile: file, atrest.PasswordFile: password},
		got(atrest.Fingerprints(file, password))(t)
}

// TestAtRest: nodes with keys write nothing in clear, an SST included, and prove it; a table in clear names itself; and
// other keys never come to a server.
func TestAtRest(t *testing.T) {
	t.Parallel()
	right, fingerprints := keys(t)
	other, _ := keys(t)
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) {
		c.AtRest = &agentapi.AtRest{State: agentapi.AtRestEncrypted, Algorithm: "AES_CTR", Keys: fingerprints,
			CacheInMemory: true}
		c.Settings["log_bin"] = "binlog"
	})
	w.nodes[0].mount("keys", right)
	w.nodes[1].mount("keys", other)
	s := &scenario{T: t, world: w}
	for _, n := range w.nodes {
		n.start()
	}
	refused := w.nodes[1].until("refusing other keys", 20*time.Second, func(r agentapi.Report) bool {
		return r.Failure != nil && r.Failure.Reason == agentapi.FailureKeys
	})
	if !strings.Contains(refused.Failure.Message, "key 1 has other bytes") {
		t.Errorf("%s", refused.Failure.Message)
	}
	w.nodes[1].mount("keys", right)
	for _, n := range w.nodes {
		n.until("waiting", 20*time.Second, waiting)
	}
	s.form()
	s.node(0).mustSQL("USE app; CREATE TABLE app.m (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100), KEY (v)); " +
		"INSERT INTO app.m (v) SELECT CONCAT('" + marker + "', seq) FROM seq_1_to_2000; " +
		"CREATE TABLE app.c (id INT PRIMARY KEY, v VARCHAR(100)) ROW_FORMAT=COMPRESSED; " +
		"INSERT INTO app.c SELECT id, v FROM app.m; FLUSH TABLES; FLUSH BINARY LOGS; " +
		"SET wsrep_on=OFF; SET sql_log_bin=OFF; CREATE TABLE app.aria (v VARCHAR(100)) ENGINE=Aria " +
		"TRANSACTIONAL=0 ROW_FORMAT=DYNAMIC; INSERT INTO app.aria VALUES ('" + marker + "'); " +
		"CREATE TABLE app.wide (" + columns(400) + ") ENGINE=Aria TRANSACTIONAL=0 ROW_FORMAT=DYNAMIC; " +
		"CREATE TABLE app.widest (" + columns(1500) + ") ENGINE=Aria ROW_FORMAT=PAGE; FLUSH TABLES")
	for table, encrypted := range map[string]bool{"wide": false, "widest": true} {
		head := got(os.ReadFile(filepath.Join(s.node(0).base, "volume", "data", "app", table+".MAI")))(t)
		a, err := atrest.ParseAria(head[:min(len(head), atrest.HeadSize)])
		if err != nil || a.Encrypted != encrypted {
			t.Errorf("%s: %+v, %v", table, a, err)
		}
	}
	s.node(1).until("proved", 80*time.Second, func(r agentapi.Report) bool {
		a := r.AtRest
		return a != nil && !a.FullAt.IsZero() && a.ClearFiles == 0 && !a.CacheClear && a.Error == "" && a.Pages > 100
	})
	if os.Getenv("GALERA_SLOW") != "" { // files are read every minute
		s.node(0).until("naming the files in clear", 120*time.Second, func(r agentapi.Report) bool {
			if r.AtRest == nil {
				return false
			}
			named := strings.Join(r.AtRest.Clear, " ") // one after the other, as they are found
			return strings.Contains(named, "app/aria.MA") && strings.Contains(named, "app/wide.MAI")
		})
	}

	// A server that is restarted still has its keys when the Secret has changed.
	s.node(1).mount("keys", other)
	s.node(1).until("reporting other keys", 40*time.Second, func(r agentapi.Report) bool {
		return r.AtRest != nil && strings.Contains(r.AtRest.Problem, "other bytes")
	})
	stopped := time.Now()
	s.node(1).exec("kill", s.node(1).serverPID())
	s.node(1).until("restarted", 60*time.Second, func(r agentapi.Report) bool {
		return r.Server != nil && r.Server.StartedAt.After(stopped) && synced(len(w.nodes))(r)
	})
	s.intact()
	if found := search(t, filepath.Join(s.node(1).base, "volume"), marker); len(found) > 0 {
		t.Errorf("in clear: %v", found)
	}
	if found := search(t, filepath.Join(s.node(0).base, "volume"), marker); len(found) != 1 ||
		filepath.Base(found[0]) != "aria.MAD" {
		t.Errorf("where a table in clear is, the search finds %v", found)
	}
	if os.Getenv("GALERA_SLOW") != "" {
		s.proofEndsWithRsync() // it copies the table in clear as well
	}
}

// proofEndsWithRsync: an SST by rsync overwrites the files in place. What was seen of the former ones does not count.
func (s *scenario) proofEndsWithRsync() {
	s.Helper()
	s.world.cn = "shop" // stunnel compares it
	s.world.publishCertificate(s.world.leaf())
	s.world.publishConfig(func(c *agentapi.NodeConfig) {
		c.StateTransfer = agentapi.StateTransferConfig{Method: "Rsync", Parallel: 1}
	})
	for _, n := range s.world.nodes {
		n.until("reported", 60*time.Second, func(r agentapi.Report) bool {
			return r.Config.Loaded == s.world.config.Revision && !r.Config.RestartNeeded
		})
	}
	n := s.node(1)
	proved := func(r agentapi.Report) bool { return r.AtRest != nil && !r.AtRest.FullAt.IsZero() }
	former := n.until("proved before the SST", 90*time.Second, proved).AtRest.FullAt
	// It cannot apply the other one's row, is voted out, and leaves in order.
	const row = "INSERT INTO app.m (id, v) VALUES (1000000, 'x')"
	n.mustSQL("SET wsrep_on=OFF; SET sql_log_bin=OFF; " + row)
	s.node(0).mustSQL(row)
	n.until("copied by rsync", 90*time.Second, func(r agentapi.Report) bool {
		return synced(len(s.world.nodes))(r) && r.Join != nil && r.Join.Kind == agentapi.JoinSST && r.Join.EndedAt != nil &&
			r.Join.EndedAt.After(former)
	})
	if again := n.until("proved again", 120*time.Second, proved).AtRest.FullAt; again.Equal(former) {
		s.Errorf("what was seen at %s, before the SST, still counts", former)
	}
}

// columns defines that many columns.
func columns(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("c%d CHAR(4)", i)
	}
	return strings.Join(out, ", ")
}

// search returns the files below a directory that contain a text.
func search(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	check(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}
