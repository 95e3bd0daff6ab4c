package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/mycnf"
	"github.com/galera-operator/galera-operator/test/harness"
)

const settings = `[mysqld]
user=mysql
datadir=/var/lib/mysql/data
socket=/run/mysqld/mysqld.sock
pid-file=/run/mysqld/pid
skip-name-resolve
binlog_format=ROW
log_bin=binlog
expire_logs_days=1
innodb_autoinc_lock_mode=2
innodb_flush_log_at_trx_commit=2
innodb_buffer_pool_size=%dM
innodb_log_file_size=128M
wsrep_on=ON
wsrep_provider=%s
wsrep_cluster_name=bench
wsrep_cluster_address=gcomm://
wsrep_node_address=%s
wsrep_sst_method=mariabackup
wsrep_sst_auth=root:
`

// server is one of the two that are compared, and a second node that gets full copies of it.
type server struct {
	options
	dir       string
	encrypted bool
	names     [2]string
	addresses [2]string
	rows      int
}

// makeFiles makes a folder with keys, which the servers that encrypt mount.
func makeFiles() (string, error) {
	dir, err := os.MkdirTemp("", "galera-atrest-")
	if err != nil {
		return dir, err
	}
	file, password, err := atrest.Make()
	if err != nil {
		return dir, err
	}
	for name, data := range map[string][]byte{atrest.KeyFile: file, atrest.PasswordFile: password} {
		//nolint:gosec // throw-away keys on this machine, which the database's user reads
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return dir, err
		}
	}
	return dir, os.Chmod(dir, 0o755) //nolint:gosec // the database's user reads it
}

func newServer(o options, dir string, encrypted bool) *server {
	s := &server{options: o, dir: dir, encrypted: encrypted}
	for i := range s.names {
		s.names[i] = fmt.Sprintf("galera-atrest-%s-%d", strings.ToLower(rand.Text()[:8]), i)
	}
	return s
}

// create makes both containers, and starts the first one's server.
func (s *server) create(ctx context.Context) error {
	for i, name := range s.names {
		if _, err := harness.Docker(ctx, "run", "-d", "--name", name, "--user", "root", "-v", "/var/lib/mysql", "-v",
			s.dir+":/keys:ro", s.image, "sleep", "infinity"); err != nil {
			return err
		}
		address, err := harness.Docker(ctx, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", name)
		if err != nil {
			return err
		}
		s.addresses[i] = strings.TrimSpace(address)
		if err := s.configure(ctx, i); err != nil {
			return err
		}
	}
	if _, err := s.sh(ctx, 0, "mariadb-install-db --defaults-file=/etc/bench.cnf "+
		"--auth-root-authentication-method=normal --wsrep-on=OFF >/dev/null"); err != nil {
		return err
	}
	if err := s.start(ctx, 0, "/var/lib/mysql/data", "--wsrep-new-cluster"); err != nil {
		return err
	}
	return s.sql(ctx, 0, "CREATE DATABASE sbtest; CREATE USER bench@'%' IDENTIFIED BY 'bench'; "+
		"GRANT ALL ON sbtest.* TO bench@'%'")
}

// configure writes a node's settings: those of the agents, where it encrypts.
func (s *server) configure(ctx context.Context, i int) error {
	provider, err := s.sh(ctx, i, "find / -xdev -name libgalera_smm.so | head -n 1")
	if err != nil {
		return err
	}
	text := fmt.Sprintf(settings, s.pool, strings.TrimSpace(provider), s.addresses[i])
	if s.encrypted {
		keys := mycnf.AtRest{KeyFile: "/keys/" + atrest.KeyFile, PasswordFile: "/keys/" + atrest.PasswordFile,
			Algorithm: "AES_CTR"}
		for _, o := range keys.Options() {
			text += o.Key + "=" + o.Value + "\n"
		}
	}
	_, err = harness.DockerWithInput(ctx, text, "exec", "-i", s.names[i], "sh", "-euc",
		"cat >/etc/bench.cnf; mkdir -p /var/lib/mysql/data /run/mysqld; chown -R mysql:mysql /var/lib/mysql /run/mysqld")
	return err
}

// start starts a server on a data directory, and waits until it serves.
func (s *server) start(ctx context.Context, i int, data string, args ...string) error {
	if _, err := harness.Docker(ctx, "exec", "-d", s.names[i], "sh", "-c", "exec mariadbd --defaults-file=/etc/bench.cnf "+
		"--datadir="+data+" "+strings.Join(args, " ")+" >>/tmp/log 2>&1"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		state, err := harness.DockerWithInput(ctx, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE "+
			"VARIABLE_NAME = 'wsrep_local_state_comment'", "exec", "-i", s.names[i], "mariadb", "-N", "-uroot", "-S",
			"/run/mysqld/mysqld.sock")
		if err == nil && (strings.Contains(state, "Synced") || strings.Contains(strings.Join(args, " "), "wsrep-on=OFF")) {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := s.sh(context.WithoutCancel(ctx), i, "tail -n 30 /tmp/log")
			return fmt.Errorf("%s does not serve: %w\n%s", s.names[i], err, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// stop ends a server with a signal, and waits until it is gone.
func (s *server) stop(ctx context.Context, i int, signal string) error {
	_, err := s.sh(ctx, i, "pid=$(cat /run/mysqld/pid); kill -"+signal+
		" $pid; while [ -e /proc/$pid ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done")
	return err
}

func (s *server) sh(ctx context.Context, i int, script string) (string, error) {
	return harness.Docker(ctx, "exec", s.names[i], "sh", "-euc", script)
}

func (s *server) sql(ctx context.Context, i int, statements string) error {
	_, err := harness.DockerWithInput(ctx, statements, "exec", "-i", s.names[i], "mariadb", "-uroot", "-S",
		"/run/mysqld/mysqld.sock")
	return err
}

// bench runs sysbench against the first node.
func (s *server) bench(ctx context.Context, kind, command string, rows int, args ...string) (string, error) {
	return harness.Docker(ctx, append([]string{"run", "--rm", "--network", "container:" + s.names[0], s.sysbench,
		"sysbench", "oltp_" + kind, "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=bench",
		"--mysql-password=bench", "--tables=1", fmt.Sprint("--table-size=", rows)}, append(args, command)...)...)
}

// prepare replaces the table by one of so many rows.
func (s *server) prepare(ctx context.Context, rows int) error {
	if err := s.sql(ctx, 0, "DROP TABLE IF EXISTS sbtest.sbtest1"); err != nil {
		return err
	}
	s.rows = rows
	_, err := s.bench(ctx, "read_write", "prepare", rows, "--auto_inc=off") // with the ids that a run asks for
	return err
}

var transactions = regexp.MustCompile(`transactions:\s+(\d+)\s+\(([\d.]+) per sec`)

// run has sysbench do transactions for a turn. It returns how many there were in a second, and how much processor time
// the server took for each.
func (s *server) run(ctx context.Context, kind string, rows int) (perSecond, microseconds float64, err error) {
	before, err := s.processorTime(ctx)
	if err != nil {
		return 0, 0, err
	}
	out, err := s.bench(ctx, kind, "run", rows, fmt.Sprint("--threads=", s.threads), fmt.Sprint("--time=",
		s.turn.Seconds()), "--mysql-ignore-errors=1020,1205,1213")
	if err != nil {
		return 0, 0, err
	}
	after, err := s.processorTime(ctx)
	if err != nil {
		return 0, 0, err
	}
	found := transactions.FindStringSubmatch(out)
	if found == nil {
		return 0, 0, fmt.Errorf("sysbench printed no transactions: %s", out)
	}
	count, err := strconv.ParseFloat(found[1], 64)
	perSecond, rateErr := strconv.ParseFloat(found[2], 64)
	return perSecond, float64((after - before).Microseconds()) / count, errors.Join(err, rateErr)
}

// processorTime is what the first node's server has used.
func (s *server) processorTime(ctx context.Context) (time.Duration, error) {
	out, err := s.sh(ctx, 0, "cut -d ' ' -f 14,15 /proc/$(cat /run/mysqld/pid)/stat; getconf CLK_TCK")
	if err != nil {
		return 0, err
	}
	var user, system, ticks int64
	if _, err := fmt.Sscan(out, &user, &system, &ticks); err != nil || ticks == 0 {
		return 0, fmt.Errorf("processor time %q: %w", out, err)
	}
	return time.Duration(user+system) * time.Second / time.Duration(ticks), nil
}

func (s *server) remove() error {
	var errs []error
	for _, name := range s.names {
		_, err := harness.Docker(context.Background(), "rm", "-f", "-v", name)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
