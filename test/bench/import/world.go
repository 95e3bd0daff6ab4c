package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	mysqlID = 999
	// history is the UUID of the history that each copy begins.
	history = "6f1a1d7e-9d5e-5a39-8ab2-11f2a6b0d1c2"
	// waitTime bounds how long a server may take to start.
	waitTime = 3 * time.Minute
)

// turn is how long a way took: all of it, and mariadb-dump into mariadb alone.
type turn struct{ all, dump time.Duration }

// world are the source, and what is made of it.
type world struct {
	options
	dir, source, address string
	bytes                int64
	copies               int
	// dumps are how many seconds mariadb-dump into mariadb took alone, in each round.
	dumps []float64
	// last is the volume of the last copy by the Job, node the container on it.
	last, node string
}

func newWorld(o options) (*world, error) {
	dir, err := os.MkdirTemp("", "galera-import-")
	if err != nil {
		return nil, err
	}
	program, err := filepath.Abs(o.program)
	o.program = program
	name := "galera-import-" + strings.ToLower(rand.Text()[:8])
	//nolint:gosec // the database's user reads it
	return &world{options: o, dir: dir, source: name}, errors.Join(err, os.Chmod(dir, 0o755))
}

func (w *world) remove() error {
	ctx := context.Background()
	var errs []error
	for _, name := range []string{w.node, w.source} {
		if name != "" {
			_, err := harness.Docker(ctx, "rm", "-f", "-v", name)
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// createSource starts a plain server, and fills it.
func (w *world) createSource(ctx context.Context) error {
	script := fmt.Sprintf("mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal "+
		"--datadir=/var/lib/mysql/d >/dev/null && exec mariadbd --no-defaults --datadir=/var/lib/mysql/d --socket=/tmp/s "+
		"--pid-file=/tmp/pid --log-bin --server-id=7 --gtid-domain-id=3 --binlog-format=ROW --skip-name-resolve "+
		"--innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=%dM", w.pool)
	if _, err := harness.Docker(ctx, "run", "-d", "--name", w.source, "-v", "/var/lib/mysql", "--user",
		fmt.Sprint(mysqlID), "--entrypoint=sh", w.sourceImage, "-c", script); err != nil {
		return err
	}
	address, err := harness.Docker(ctx, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", w.source)
	if err != nil {
		return err
	}
	w.address = strings.TrimSpace(address)
	if err := w.serves(ctx, w.source, "/tmp/s"); err != nil {
		return err
	}
	statements := "CREATE DATABASE sbtest; CREATE USER mover IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO mover; "
	for i := 1; i <= w.tables; i++ {
		statements += fmt.Sprintf("CREATE TABLE sbtest.sbtest%d (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, "+
			"c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k)); INSERT INTO sbtest.sbtest%d SELECT seq, "+
			"CRC32(seq) %% %d, LEFT(CONCAT(SHA1(seq), SHA1(-seq), SHA1(seq * 7)), 119), SHA1(seq + 1) FROM "+
			"sbtest.seq_1_to_%d; ANALYZE TABLE sbtest.sbtest%d; ", i, i, w.rows, w.rows, i)
	}
	if _, err := w.query(ctx, w.source, "/tmp/s", statements); err != nil {
		return err
	}
	size, err := w.query(ctx, w.source, "/tmp/s", "SELECT SUM(data_length + index_length) FROM "+
		"information_schema.tables WHERE table_schema = 'sbtest'")
	if err != nil {
		return err
	}
	w.bytes, err = strconv.ParseInt(size, 10, 64)
	return err
}

func (w *world) query(ctx context.Context, name, socket, statements string) (string, error) {
	out, err := harness.DockerWithInput(ctx, statements, "exec", "-i", name, "mariadb", "-N", "-uroot", "-S", socket)
	return strings.TrimSpace(out), err
}

// serves waits until a server does.
func (w *world) serves(ctx context.Context, name, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	for {
		_, err := w.query(ctx, name, socket, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := harness.Docker(context.WithoutCancel(ctx), "logs", "--tail", "30", name)
			return fmt.Errorf("%s does not serve: %w\n%s", name, err, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// handScript is what a person does. The server is that of the Job: without a binary log, and without writing each
// transaction to the disk.
const handScript = `mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal \
  --datadir=/var/lib/mysql/d >/dev/null
mariadbd --no-defaults --datadir=/var/lib/mysql/d --socket=/tmp/s --pid-file=/tmp/pid --skip-networking \
  --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=%dM --max-allowed-packet=1G >/tmp/log 2>&1 &
until mariadb -uroot -S /tmp/s -e 'SELECT 1' >/dev/null 2>&1; do sleep 0.1; done
from=$(date +%%s%%N)
mariadb-dump --host=%s --user=mover --password=secret --skip-ssl --single-transaction --routines --triggers --events \
  --skip-add-locks --databases sbtest | mariadb -uroot -S /tmp/s
echo "copied $(($(date +%%s%%N) - from))"
kill $(cat /tmp/pid)
wait`

var copied = regexp.MustCompile(`copied (\d+)`)

// byHand copies with mariadb-dump.
func (w *world) byHand(ctx context.Context) (turn, error) {
	from := time.Now()
	out, err := harness.Docker(ctx, "run", "--rm", "-v", "/var/lib/mysql", "--user", fmt.Sprint(mysqlID),
		"--entrypoint=sh", w.image, "-euc", fmt.Sprintf(handScript, w.pool, w.address))
	took := turn{all: time.Since(from)}
	if err != nil {
		return took, err
	}
	found := copied.FindStringSubmatch(out)
	if found == nil {
		return took, fmt.Errorf("nothing was copied: %s", out)
	}
	nanoseconds, err := strconv.ParseInt(found[1], 10, 64)
	took.dump = time.Duration(nanoseconds)
	return took, err
}

// byJob copies with the program of the Job.
func (w *world) byJob(ctx context.Context) (turn, error) {
	w.copies++
	base := filepath.Join(w.dir, fmt.Sprint("copy-", w.copies))
	volume, source, result := filepath.Join(base, "volume"), filepath.Join(base, "source"), filepath.Join(base, "result")
	for _, dir := range []string{volume, source} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the database's user reads it
			return turn{}, err
		}
	}
	for name, text := range map[string]string{filepath.Join(source, task.SourceUser): "mover",
		filepath.Join(source, task.SourcePassword): "secret", result: ""} {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chown(name, mysqlID, mysqlID)); err != nil {
			return turn{}, err
		}
	}
	if err := os.Chown(volume, mysqlID, mysqlID); err != nil {
		return turn{}, err
	}
	text, err := json.Marshal(task.Task{Import: &task.External{Host: w.address, Port: 3306, Plain: true, Follow: true,
		Connections: w.connections, ID: "external-1", History: history,
		Settings: map[string]string{"innodb_buffer_pool_size": fmt.Sprint(w.pool, "M")}}})
	if err != nil {
		return turn{}, err
	}
	user := fmt.Sprint(mysqlID, ":", mysqlID)
	owner := fmt.Sprintf(":uid=%d,mode=750", mysqlID)
	from := time.Now()
	_, err = harness.Docker(ctx, "run", "--rm", "--user", user, "--tmpfs", agentapi.RunDir+owner, "--tmpfs",
		agentapi.TmpDir+owner, "-v", volume+":"+agentapi.VolumeDir, "-v", source+":"+task.SourceDir+":ro",
		"-v", result+":"+task.ResultFile, "-v", w.program+":/backup:ro", "-e", task.EnvTask+"="+string(text),
		"--entrypoint", "/backup", w.image, "run")
	took := turn{all: time.Since(from)}
	if err != nil {
		return took, err
	}
	if w.last != "" {
		err = os.RemoveAll(w.last)
	}
	w.last = volume
	return took, err
}
