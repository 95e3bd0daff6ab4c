//go:build integration

package agent_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestIncrements: the programs of the Jobs copy a node, what has changed since, and that once more after its pod was
// replaced, and restore all of it: the data are those of the node. mariadb-backup would take increments of another data
// directory, too, and the result would be a mix: the agents give full copies then.
func TestIncrements(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	w := newWorld(t, 2, func(c *agentapi.NodeConfig) { // an increment begins at the checkpoint of its base
		maps.Copy(c.Settings, map[string]string{"innodb_max_dirty_pages_pct": "0", "innodb_max_dirty_pages_pct_lwm": "0",
			"log_bin": "binlog", "log_slave_updates": "ON", "wsrep_gtid_mode": "ON"})
	})
	s := &scenario{T: t, world: w}
	s.wait()
	s.form()
	j := newJobs(w)
	n := s.node(1)
	n.mustSQL("CREATE TABLE app.kept (id INT PRIMARY KEY, v TEXT); CREATE TABLE app.gone (id INT PRIMARY KEY); " +
		"INSERT INTO app.kept SELECT seq, REPEAT(SHA1(seq), 10) FROM app.seq_1_to_20000; " +
		"CREATE TABLE app.a (id INT PRIMARY KEY) ENGINE=Aria")
	n.flushed()
	full := j.backUp(n, "full", nil)
	if full.Base != "" || full.LSN == 0 || full.Full != "" {
		t.Fatalf("%+v", full)
	}
	n.mustSQL("UPDATE app.kept SET v = 'x' WHERE id % 100 = 0; DROP TABLE app.gone; INSERT INTO app.a VALUES (1); " +
		"CREATE TABLE app.new (id INT PRIMARY KEY); INSERT INTO app.new VALUES (1); RENAME TABLE app.new TO app.newer")
	n.flushed()
	first := j.backUp(n, "first", &full)
	if first.Base != full.ID || first.Depth != 1 || first.LSN == full.LSN || first.StreamBytes > full.StreamBytes/2 {
		t.Fatalf("%+v, and the full one has %d bytes", first, full.StreamBytes)
	}
	n.stop(true)
	n.start()
	s.all(2 * time.Minute)
	n.until("joined", time.Minute, func(r agentapi.Report) bool { return r.Join != nil && r.Join.EndedAt != nil })
	n.mustSQL("DELETE FROM app.kept WHERE id % 7 = 0; ALTER TABLE app.kept ADD COLUMN w INT DEFAULT 5; " +
		"INSERT INTO app.a VALUES (2)")
	second := j.backUp(n, "second", &first)
	if second.Base != first.ID || second.Depth != 2 {
		t.Fatalf("%+v", second)
	}
	const sums = "CHECKSUM TABLE app.kept, app.a, app.newer, app.t; SHOW TABLES FROM app"
	want := n.mustSQL(sums)
	if have := j.restored(second.ID, sums); have != want {
		t.Errorf("restored: %q, want %q", have, want)
	}

	// The copies of the binary log's position that a point in time goes on from are those of the increment.
	if r := j.restore(second.ID, &task.Replay{Target: binlog.Target{Latest: true}}); r.Restored == nil ||
		r.Restored.GTID == "" || r.Restored.GTID != second.GTID || r.Restored.Source != second.Position {
		t.Errorf("as the base of an archive: %+v, and the increment is at %s, %s", r, second.Position, second.GTID)
	}
	tested := task.Task{Verify: &task.Verify{Dir: second.Dir, ID: second.ID, Checksum: second.Checksum}}
	if r := j.run(tested); r.Error != "" {
		t.Errorf("tested by its checksums: %+v", r)
	}
	tested.Verify.Restore, tested.Verify.History = true, importHistory
	if r := j.fill(tested); r.Error != "" || r.Verified == nil || r.Verified.Tables < 30 {
		t.Errorf("tested by a restore: %+v", r)
	}
	r := j.run(task.Task{Describe: &task.Describe{Dir: second.Dir, ID: second.ID}})
	if r.Backup == nil || r.Backup.Base != first.ID || r.Backup.Depth != 2 || r.Backup.LSN != second.LSN {
		t.Errorf("imported: %+v", r)
	}

	const another = "the data directory is not the one"
	if other := j.backUp(s.node(0), "other", &second); other.Base != "" || !strings.Contains(other.Full, another) {
		t.Errorf("of another node: %+v", other)
	}
	for _, method := range []string{"MariaBackup", "Rsync"} {
		base, donors := j.backUp(n, "before-"+strings.ToLower(method), nil),
			j.backUp(s.node(0), "donor-"+strings.ToLower(method), nil)
		s.copyAgain(n, method)
		after := j.backUp(n, "after-"+strings.ToLower(method), &base)
		if after.Base != "" || !strings.Contains(after.Full, another) || after.LSN == 0 {
			t.Errorf("after an SST by %s: %+v", method, after)
		}
		if of := j.backUp(n, "copied-"+strings.ToLower(method), &donors); of.Base != "" {
			t.Errorf("an increment of a copy of the donor: %+v", of)
		}
	}

	if r := j.run(task.Task{Remove: &task.Remove{Dir: full.Dir, ID: full.ID}}); r.Reason != task.ReasonBackupNeeded ||
		!strings.Contains(r.Error, first.ID) {
		t.Errorf("a base of increments is removed: %+v", r)
	}
	check(t, os.Remove(filepath.Join(j.dir, "store", first.Dir, first.ID, manifest.Name)))
	if r := j.restore(second.ID, nil); r.Reason != task.ReasonBackupDamaged || !r.Fatal ||
		!strings.Contains(r.Error, "is an increment of first") {
		t.Errorf("without a part of the chain: %+v", r)
	}
}

// flushed waits until InnoDB's checkpoint is near the end of its log.
func (n *node) flushed() {
	n.w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		age := n.mustSQL("SELECT variable_value < 4096 FROM information_schema.global_status " +
			"WHERE variable_name = 'Innodb_checkpoint_age'")
		if age == "1" {
			return
		}
		if time.Now().After(end) {
			n.w.t.Fatalf("%s: InnoDB does not reach a checkpoint", n.name)
		}
	}
}

// copyAgain has a node get an SST on the volume that it has: it cannot apply the other one's row, and leaves.
func (s *scenario) copyAgain(n *node, method string) {
	s.Helper()
	s.world.cn = "shop" // stunnel compares it
	s.world.publishCertificate(s.world.leaf())
	s.world.publishConfig(func(c *agentapi.NodeConfig) { c.StateTransfer.Method = method; c.StateTransfer.Parallel = 1 })
	for _, n := range s.world.nodes {
		n.until("reported", time.Minute, func(r agentapi.Report) bool {
			return r.Config.Loaded == s.world.config.Revision && !r.Config.RestartNeeded
		})
	}
	began := time.Now()
	row := fmt.Sprintf("INSERT INTO app.newer VALUES (%d)", began.Unix())
	n.mustSQL("SET wsrep_on=OFF; SET sql_log_bin=OFF; " + row)
	s.node(0).mustSQL(row)
	n.until("copied by "+method, 2*time.Minute, func(r agentapi.Report) bool {
		return synced(len(s.world.nodes))(r) && r.Join != nil && r.Join.Kind == agentapi.JoinSST && r.Join.EndedAt != nil &&
			r.Join.EndedAt.After(began)
	})
}

// jobs run the programs of backups' Jobs, with a store on a volume.
type jobs struct {
	w        *testCluster
	dir      string
	program  string
	image    string // of the cluster
	identity *age.X25519Identity
}

func newJobs(w *testCluster) *jobs {
	j := &jobs{w: w, dir: filepath.Join(w.dir, "jobs"), program: built.path(w.t, "backup", noCgo, "../../cmd/backup"),
		image:    image,
		identity: got(age.GenerateX25519Identity())(w.t)}
	for _, name := range []string{"store", "keys", "agent", "pipe", "source"} {
		dir := filepath.Join(j.dir, name)
		check(w.t, os.MkdirAll(dir, 0o770))
		check(w.t, os.Chown(dir, mysqlUID, mysqlUID))
	}
	j.put("keys/identity", []byte(j.identity.String()))
	return j
}

func (j *jobs) put(name string, text []byte) {
	j.w.t.Helper()
	path := filepath.Join(j.dir, name)
	check(j.w.t, os.WriteFile(path, text, 0o600))
	check(j.w.t, os.Chown(path, mysqlUID, mysqlUID))
}

// args are those of a container that runs a command of the program.
func (j *jobs) args(t task.Task, command string, more ...string) []string {
	j.w.t.Helper()
	text := got(json.Marshal(t))(j.w.t)
	args := []string{"--network", j.w.network, "--user", "999:999", "--tmpfs", agentapi.RunDir + ":uid=999,mode=750",
		"--tmpfs", agentapi.TmpDir, "-v", filepath.Join(j.dir, "pipe") + ":" + task.PipeDir,
		"-v", filepath.Join(j.dir, "source") + ":" + task.SourceDir, "-v", j.program + ":/backup:ro",
		"-e", task.EnvTask + "=" + string(text)}
	return append(append(args, more...), "--entrypoint", "/backup", j.image, command)
}

// withStore mounts the store, and what a Job has to read it, or to be let in by an agent.
func (j *jobs) withStore() (mounts []string) {
	for name, path := range map[string]string{"store": task.VolumeDir, "keys": task.KeysDir, "agent": task.AgentDir} {
		mounts = append(mounts, "-v", filepath.Join(j.dir, name)+":"+path)
	}
	return mounts
}

// run runs a Job, and returns its result.
func (j *jobs) run(t task.Task, more ...string) (r task.Result) {
	j.w.t.Helper()
	j.put("result", nil)
	if t.Restore == nil && t.Import == nil && (t.Verify == nil || !t.Verify.Restore) {
		more = append(more, j.withStore()...)
	}
	more = append(more, "-v", filepath.Join(j.dir, "result")+":"+task.ResultFile)
	out, _ := exec.Command("docker", append([]string{"run", "--rm"}, j.args(t, "run", more...)...)...).CombinedOutput()
	if err := json.Unmarshal(got(os.ReadFile(filepath.Join(j.dir, "result")))(j.w.t), &r); err != nil {
		j.w.t.Fatalf("%v: %s", err, out)
	}
	return r
}

// backUp copies a node, or what has changed on it since a backup.
func (j *jobs) backUp(n *node, id string, since *task.Stored) task.Stored {
	t := j.w.t
	t.Helper()
	certPEM, keyPEM := j.w.control.issue(t, "backup", "backup")
	j.put("agent/tls.crt", certPEM)
	j.put("agent/tls.key", keyPEM)
	j.put("agent/ca.crt", j.w.root.pem)
	block, _ := pem.Decode(certPEM)
	own := got(x509.ParseCertificate(block.Bytes))(t)
	check(t, j.w.client.AdmitBackup(t.Context(), n.ip, agentapi.BackupAdmission{ID: id, KeySHA256: agentapi.KeyHash(own)}))
	m := manifest.Manifest{ID: id, Namespace: "test", Cluster: "shop", ClusterUID: "u1", Node: n.name,
		Compression: manifest.CompressionZstd, Recipients: []string{j.identity.Recipient().String()}}
	if since != nil {
		m.Base = &manifest.Base{ID: since.ID, Checksum: since.Checksum, LSN: since.LSN, Depth: since.Depth + 1}
	}
	r := j.run(task.Task{Backup: &task.Backup{Manifest: m, Attempt: 1, ServerName: n.name,
		Address: net.JoinHostPort(n.ip, strconv.Itoa(agentapi.BackupPort))}})
	if r.Error != "" || r.Backup == nil {
		t.Fatalf("the backup %s: %+v", id, r)
	}
	t.Logf("%s: %d bytes, LSN %d, base %q, %s", id, r.Backup.StreamBytes, r.Backup.LSN, r.Backup.Base, r.Backup.Full)
	return *r.Backup
}

// restore fills a new volume.
func (j *jobs) restore(id string, replay *task.Replay) task.Result {
	j.w.t.Helper()
	return j.fill(task.Task{Restore: &task.Restore{Dir: "test/shop/u1", ID: id, History: importHistory, Replay: replay}})
}

// fill does what the containers of a restore's pod do, with a new volume.
func (j *jobs) fill(t task.Task) task.Result {
	j.w.t.Helper()
	volume := filepath.Join(j.dir, "volume")
	check(j.w.t, os.RemoveAll(volume))
	return j.fillAt(volume, t)
}

// fillAt does so with a volume that an earlier attempt may have begun to fill.
func (j *jobs) fillAt(volume string, t task.Task) task.Result {
	j.w.t.Helper()
	check(j.w.t, os.MkdirAll(volume, 0o770))
	check(j.w.t, os.Chown(volume, mysqlUID, mysqlUID))
	fetch := j.w.network + "-fetch"
	j.w.run(exec.Command("docker", append([]string{"run", "-d", "--name", fetch},
		j.args(t, "fetch", j.withStore()...)...)...))
	defer func() { _ = exec.Command("docker", "rm", "-f", fetch).Run() }()
	return j.run(t, "-v", volume+":"+agentapi.VolumeDir)
}

// restored is what statements print of a restored backup.
func (j *jobs) restored(id, statements string) string {
	t := j.w.t
	t.Helper()
	if r := j.restore(id, nil); r.Error != "" || r.Restored == nil {
		t.Fatalf("the restore of %s: %+v", id, r)
	}
	name := j.w.network + "-restored"
	j.w.run(exec.Command("docker", "run", "-d", "--name", name, "--user", "999:999", "-v",
		filepath.Join(j.dir, "volume")+":"+agentapi.VolumeDir, "--entrypoint", "mariadbd", image, "--no-defaults",
		"--datadir="+agentapi.DataDir, "--skip-grant-tables", "--skip-networking", "--socket=/tmp/s", "--wsrep-on=OFF"))
	defer func() { _ = exec.Command("docker", "rm", "-f", name).Run() }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out, err := exec.Command("docker", "exec", name, "mariadb", "-NB", "--socket=/tmp/s", "-e",
			statements).CombinedOutput()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %s\n%s", err, out, j.w.run(exec.Command("docker", "logs", name)))
		}
	}
}
