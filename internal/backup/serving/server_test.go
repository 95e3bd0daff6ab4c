//go:build integration

package serving

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mariadb is a server in a container.
type mariadb struct {
	*testing.T
	*sql.DB
	dir, id string
}

func start(t *testing.T, image string, options ...string) *mariadb {
	t.Helper()
	return startIn(t, newDir(t), image, options...)
}

func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "serving-") //nolint:usetesting // the container writes there as another user
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// startIn starts a server with a directory of the host, /run/d in the container.
func startIn(t *testing.T, dir, image string, options ...string) *mariadb {
	t.Helper()
	script := "[ -e /run/d/data ] || mariadb-install-db --no-defaults --skip-test-db " +
		"--auth-root-authentication-method=normal --datadir=/run/d/data --user=root >/dev/null; " +
		"exec mariadbd --no-defaults --user=root --datadir=/run/d/data --socket=/run/d/s " +
		"--innodb-buffer-pool-size=32M --max-allowed-packet=64M " +
		strings.Join(options, " ")
	out, err := exec.Command("docker", "run", "-d", "--user=0", "--add-host="+sourceName+":host-gateway",
		"--entrypoint=sh", "-v", dir+":/run/d", image, "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m := &mariadb{T: t, dir: dir, id: strings.TrimSpace(string(out))}
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", "-v", m.id).Run()
		_ = os.RemoveAll(dir)
	})
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.MaxAllowedPacket = "root", "unix", filepath.Join(dir, "s"), 64<<20
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.DB = sql.OpenDB(c)
	t.Cleanup(func() { _ = m.DB.Close() })
	m.await()
	return m
}

func (m *mariadb) await() {
	m.Helper()
	m.until("it serves", func() bool { return m.Ping() == nil })
}

func (m *mariadb) kill() { m.docker("kill", "-s", "KILL", m.id) }

func (m *mariadb) restart() {
	m.docker("start", m.id)
	m.await()
}

func (m *mariadb) docker(args ...string) {
	m.Helper()
	if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
		m.Fatalf("%v: %v: %s", args, err, out)
	}
}

func (m *mariadb) run(statements ...string) {
	m.Helper()
	for _, s := range statements {
		if _, err := m.ExecContext(context.Background(), s); err != nil {
			m.Fatalf("%s: %v", s, err)
		}
	}
}

// unlogged executes a statement that no binary log has.
func (m *mariadb) unlogged(statement string) {
	m.Helper()
	conn, err := m.Conn(context.Background())
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, s := range []string{"SET sql_log_bin = 0", statement, "SET sql_log_bin = 1"} {
		if _, err := conn.ExecContext(context.Background(), s); err != nil {
			m.Fatalf("%s: %v", s, err)
		}
	}
}

func (m *mariadb) value(query string) string {
	m.Helper()
	var v sql.NullString
	if err := m.QueryRowContext(context.Background(), query).Scan(&v); err != nil {
		m.Fatalf("%s: %v", query, err)
	}
	return v.String
}

func (m *mariadb) until(what string, ok func() bool) {
	m.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); {
		if time.Now().After(end) {
			logs, _ := exec.Command("docker", "logs", "--tail=30", m.id).CombinedOutput()
			m.Fatalf("%s: not within the time; %v\n%s", what, m.slave(), logs)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// is waits for what a query returns; a table may be missing yet.
func (m *mariadb) is(query, want string) {
	m.Helper()
	m.until(query+" is "+want, func() bool {
		var v sql.NullString
		return m.QueryRowContext(context.Background(), query).Scan(&v) == nil && v.String == want
	})
}

func (m *mariadb) status(field, want string) {
	m.Helper()
	m.until(field+" is "+want, func() bool { return m.slave()[field] == want })
}

func (m *mariadb) slave() map[string]string {
	out := map[string]string{}
	rows, err := m.QueryContext(context.Background(), "SHOW SLAVE STATUS")
	if err != nil {
		return out
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil || !rows.Next() {
		return out
	}
	values, to := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	if rows.Scan(to...) == nil {
		for i, name := range names {
			out[name] = values[i].String
		}
	}
	return out
}
