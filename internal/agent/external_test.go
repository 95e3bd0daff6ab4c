//go:build integration

package agent_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const importHistory = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"

// TestCopiedServer: the program of the Job copies another server to the first node's volume, though it was killed once.
// The agents bootstrap from there, and a node with an empty volume joins.
func TestCopiedServer(t *testing.T) {
	if os.Getenv("GALERA_SLOW") == "" {
		t.Skip("GALERA_SLOW is not set")
	}
	t.Parallel()
	w := newWorld(t, 2, nil)
	host := w.oldServer()
	first := w.nodes[0]
	job := first.copying(host)
	w.run(exec.Command("docker", append([]string{"run", "-d", "--name", first.container() + "-job"}, job...)...))
	volume := filepath.Join(first.base, "volume")
	first.jobKilled(first.container()+"-job", func() bool {
		begun, err := filepath.Glob(filepath.Join(volume, "*", "import-begun.json"))
		check(t, err)
		rows, err := os.Stat(filepath.Join(volume, "data.restore", "shop", "t.ibd"))
		return err == nil && len(begun) > 0 && rows.Size() > 4<<20
	})
	var r task.Result
	for _, again := range []string{"a copy", "nothing, as it is there"} {
		command := append([]string{"run", "--rm", "--name", first.container() + "-job"}, job...)
		said := w.run(exec.Command("docker", command...))
		if resumed := strings.Contains(said, "going on with what an earlier attempt"); resumed != (again == "a copy") ||
			strings.Contains(said, "beginning anew") {
			t.Errorf("%s: %s", again, said)
		}
		text, err := os.ReadFile(filepath.Join(first.base, "result"))
		check(t, err)
		check(t, json.Unmarshal(text, &r))
		if r.Error != "" || r.Restored == nil || r.Source == nil || r.Source.Rows != 300001 || r.Restored.Position !=
			importHistory+":1" {
			t.Fatalf("%s: %s", again, text)
		}
	}
	for _, n := range w.nodes {
		n.start()
	}
	w.nodes[1].until("empty", time.Minute, func(r agentapi.Report) bool { return r.Data == galera.DataEmpty })
	first.beginsAt(r.Restored.Position)
	for _, n := range w.nodes {
		n.until("Synced", 3*time.Minute, synced(2))
		sum, err := n.socket("SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, v)))) FROM shop.t; " +
			"SELECT user FROM mysql.global_priv WHERE user IN ('app', 'galera-operator-import')")
		check(t, err)
		want := w.run(exec.Command("docker", "exec", w.network+"-old", "mariadb", "-NBuroot", "--socket=/tmp/s", "-e",
			"SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, v)))) FROM shop.t"))
		if strings.TrimSpace(sum) != want+"\napp" {
			t.Errorf("%s has %q, and the source %q", n.name, sum, want)
		}
	}
}

// jobKilled ends the container of a Job as soon as it has begun: half of its work is no data directory.
func (n *node) jobKilled(name string, begun func() bool) {
	t, run := n.w.t, n.w.run
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !begun(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it has not begun: ", run(exec.Command("docker", "logs", name)))
		}
	}
	run(exec.Command("docker", "rm", "-f", name))
	if _, err := os.Stat(filepath.Join(n.base, "volume", "data")); err == nil {
		t.Fatal("half of it is a data directory")
	}
}

// beginsAt has a node that runs bootstrap the cluster from the position that a Job has left on its volume.
func (n *node) beginsAt(position string) {
	n.w.t.Helper()
	report := n.until("examined", time.Minute, waiting)
	if report.Data != galera.DataPresent || report.Position.String() != position {
		n.w.t.Fatalf("%+v", report)
	}
	o, _ := n.send(agentapi.OrderBootstrap, 7, report.Position, importHistory)
	n.until("bootstrapped", 2*time.Minute, done(o.ID))
}

// oldServer runs another server in the nodes' network, and returns its name.
func (w *testCluster) oldServer() string {
	w.t.Helper()
	name := w.network + "-old"
	script := "mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal " +
		"--datadir=/tmp/d >/dev/null && exec mariadbd --no-defaults --datadir=/tmp/d --socket=/tmp/s --pid-file=/tmp/pid " +
		"--log-bin " +
		"--server-id=7 --gtid-domain-id=3"
	w.run(exec.Command("docker", "run", "-d", "--name", name, "--network", w.network, "--user=999", "--entrypoint=sh",
		strings.ReplaceAll(image, "11.8", "10.11"), "-c", script))
	w.t.Cleanup(func() { _ = exec.Command("docker", "rm", "-f", "-v", name).Run() })
	statements := "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(64)); " +
		"INSERT INTO shop.t SELECT seq, SHA1(seq) FROM shop.seq_1_to_300000; CREATE TABLE shop.u (id INT PRIMARY KEY); " +
		"INSERT INTO shop.u VALUES (1); ANALYZE TABLE shop.t; CREATE USER app IDENTIFIED BY 'x'; " +
		"CREATE USER mover IDENTIFIED BY 'secret'; GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO mover"
	var out []byte
	err := os.ErrNotExist
	for deadline := time.Now().Add(time.Minute); err != nil &&
		time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		out, err = exec.Command("docker", "exec", name, "mariadb", "-uroot", "--socket=/tmp/s", "-e",
			statements).CombinedOutput()
		if err != nil && !strings.Contains(string(out), "connect") {
			break
		}
	}
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return name
}

// copying are the arguments of a container that runs the program of the Job on the node's volume.
func (n *node) copying(host string) []string {
	t := n.w.t
	t.Helper()
	volume, source, result := filepath.Join(n.base, "volume"), filepath.Join(n.base, "source"),
		filepath.Join(n.base, "result")
	check(t, os.MkdirAll(volume, 0o770))
	check(t, os.Chown(volume, mysqlUID, mysqlUID))
	check(t, os.MkdirAll(source, 0o755))
	for name, text := range map[string]string{filepath.Join(source, task.SourceUser): "mover",
		filepath.Join(source, task.SourcePassword): "secret\n", result: ""} {
		check(t, os.WriteFile(name, []byte(text), 0o600))
		check(t, os.Chown(name, mysqlUID, mysqlUID))
	}
	text, err := json.Marshal(task.Task{Import: &task.External{Host: host, Port: 3306, Plain: true, Users: true,
		Connections: 3, MemoryBytes: 512 << 20, Settings: map[string]string{"innodb_buffer_pool_size": "400M"},
		ID: "external-1", History: importHistory}})
	check(t, err)
	program := built.path(t, "backup", noCgo, "../../cmd/backup")
	return []string{"--network", n.w.network, "--memory", "512m", "--user", "999:999", "--read-only", "--cap-drop", "ALL",
		"--security-opt", "no-new-privileges", "--tmpfs", agentapi.RunDir + ":uid=999,mode=750", "--tmpfs", agentapi.TmpDir,
		"-v", volume + ":" + agentapi.VolumeDir, "-v", source + ":" + task.SourceDir + ":ro", "-v", result + ":" +
			task.ResultFile,
		"-v", program + ":/backup:ro", "-e", task.EnvTask + "=" + string(text), "--entrypoint", "/backup", n.image, "run"}
}
