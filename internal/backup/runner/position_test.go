//go:build integration

package runner

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// envInside has a test do its work: it runs in a container of the database's image.
const envInside = "GALERA_TEST_INSIDE"

// TestSeed: the archive's transactions are applied to a restored copy, which then names the position that a channel
// goes on from, whichever one it had before. What it has of another domain, which the cluster has followed before,
// stays known.
func TestSeed(t *testing.T) {
	if inside(t) {
		return
	}
	source, last := installed(t), binlog.GTID{}
	err := onServer(t.Context(), source, task.Replay{}, []string{"--log-bin=" + filepath.Join(source.Tmp, "log"),
		"--binlog-checksum=NONE", "--server-id=1"}, func(db *sql.DB, _ *mariadbd.Process) error {
		return errors.Join(execute(t.Context(), db, "RESET MASTER", "CREATE DATABASE shop",
			"CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1), (2)", "DELETE FROM shop.t WHERE id = 1",
			"FLUSH BINARY LOGS"),
			db.QueryRowContext(t.Context(), "SELECT @@gtid_binlog_pos").Scan(&gtidText{&last}))
	})
	if err != nil || last.Seq != 4 {
		t.Fatal(last, err)
	}
	p := installed(t)
	if err := setPosition(t.Context(), p, &task.Replay{}, "3-5-100"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(source.Tmp, "log.000001"), filepath.Join(p.work, relayLog)); err != nil {
		t.Fatal(err)
	}
	if err := apply(t.Context(), p, task.Replay{}, last, 4); err != nil {
		t.Fatal(err)
	}
	if err := setPosition(t.Context(), p, &task.Replay{}, last.String()); err != nil {
		t.Fatal(err)
	}
	have := make([]string, 3)
	err = onServer(t.Context(), p, task.Replay{}, nil, func(db *sql.DB, _ *mariadbd.Process) error {
		return db.QueryRowContext(t.Context(), "SELECT @@gtid_slave_pos, "+
			"(SELECT GROUP_CONCAT(DISTINCT seq_no ORDER BY seq_no) FROM mysql.gtid_slave_pos), "+
			"(SELECT SUM(id) FROM shop.t)").Scan(&have[0], &have[1], &have[2])
	})
	if err != nil || have[0] != "0-1-4,3-5-100" || have[1] != "4,100" || have[2] != "2" {
		t.Error(have, err)
	}
	if err := setPosition(t.Context(), p, &task.Replay{}, ""); err == nil {
		t.Error("no position is one")
	}
}

// TestIdentifiers: the data of a cluster have the server_id and the GTID domain of its nodes, the same on all volumes
// that are filled from one backup, whichever ones the copied node has had.
func TestIdentifiers(t *testing.T) {
	if inside(t) {
		return
	}
	const copied, own = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	var starts []string
	for _, domain := range []uint32{900, 900, 0} {
		p := installed(t)
		if _, err := beginAfter(t.Context(), p, copied, 54, identifiers(7, 7)...); err != nil {
			t.Fatal(err)
		}
		source, position, err := begin(t.Context(), p, own, identifiers(900, domain)...)
		if err != nil || source.UUID != copied || position.UUID != own || position.Seqno <= source.Seqno {
			t.Fatal(source, position, err)
		}
		found, err := mariadbd.Recover(t.Context(), p.table, p.server("--wsrep-gtid-mode=ON"))
		if err != nil || !strings.HasPrefix(found.Start, fmt.Sprintf("%s,%d-900-", position, domain)) {
			t.Error(found, err)
		}
		starts = append(starts, found.Start)
	}
	if starts[0] != starts[1] {
		t.Error(starts)
	}
}

// inside runs a test in a container of each image, and reports whether that was done: it is in none yet.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv(envInside) != "" {
		return false
	}
	for _, image := range []string{"galera-mariadb:11.8", "galera-mariadb:10.11"} {
		out, err := exec.Command("docker", "run", "--rm", "--user=999:999", "-v", os.Args[0]+":/test:ro", "-e",
			envInside+"=1", "--entrypoint", "/test", image, "-test.run=^"+t.Name()+"$", "-test.v").CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", image, err, out)
		}
	}
	return true
}

// installed is a volume with the data of a new server, as a backup of it.
func installed(t *testing.T) places {
	t.Helper()
	p := volume(t)
	p.Run = p.Tmp
	out, err := exec.Command("mariadb-install-db", "--no-defaults", "--skip-test-db", "--datadir="+p.work).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(p.work, "backup-my.cnf"), []byte("[mysqld]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

type gtidText struct{ *binlog.GTID }

func (g gtidText) Scan(v any) error {
	text, _ := v.([]byte)
	return g.UnmarshalText(text)
}
