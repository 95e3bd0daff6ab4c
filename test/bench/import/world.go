package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	// waitTime bounds how long a server may take to start, and turnTime how long one turn may take.
	waitTime, turnTime = 3 * time.Minute, 10 * time.Minute
	// turnSuffix is what the name of the container of a turn ends with.
	turnSuffix = "-turn"
	// fetchSuffix is that of the one that reads the store.
	fetchSuffix = "-fetch"
)

// turn is how long a way took: all of it, and mariadb-dump into mariadb alone; and its processor time.
type turn struct {
	all, dump time.Duration
	load      load
}

// world are the source, and what is made of it.
type world struct {
	options
	dir, source, address string
	bytes                int64
	copies               int
	// dumps are how many seconds mariadb-dump into mariadb took alone, in each round.
	dumps []float64
	// loads are the turns of each way.
	loads map[string][]turn
	// last is the volume of the last copy by the Job, node the container on it.
	last, node string
}

func newWorld(o options) (*world, error) {
	dir, err := os.MkdirTemp("", "galera-import-")
	if err != nil {
		return nil, err
	}
	program, err := filepath.Abs(o.program)
	if err == nil {
		_, err = os.Stat(program) // Docker would make a folder of that name
	}
	o.program = program
	name := "galera-import-" + strings.ToLower(rand.Text()[:8])
	//nolint:gosec // the database's user reads it
	return &world{options: o, dir: dir, source: name, loads: map[string][]turn{}}, errors.Join(err, os.Chmod(dir, 0o755))
}

// remove removes the containers, also those that an interrupted turn has left, and all data.
func (w *world) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	var errs []error
	for _, name := range []string{w.source + turnSuffix, w.source + fetchSuffix, w.source + "-node", w.source} {
		_, err := harness.Docker(ctx, "rm", "-f", "-v", name)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// runTurn runs a container of one turn until it ends.
func (w *world) runTurn(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, turnTime, fmt.Errorf("not within %s", turnTime))
	defer cancel()
	out, err := harness.Docker(ctx, append([]string{"run", "--rm", "--name", w.source + turnSuffix}, args...)...)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(context.Cause(ctx), err)
	}
	return out, err
}

// folder makes one that the database's user owns.
func folder(path string) error {
	//nolint:gosec // the database's user reads it
	return errors.Join(os.MkdirAll(path, 0o755), os.Chown(path, mysqlID, mysqlID))
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
			"c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k (k)); SET sql_log_bin = 0; INSERT INTO sbtest.sbtest%d "+
			"SELECT seq, CRC32(seq) %% %d, LEFT(CONCAT(SHA1(seq), SHA1(-seq), SHA1(seq * 7)), 119), SHA1(seq + 1) FROM "+
			"sbtest.seq_1_to_%d; SET sql_log_bin = 1; ANALYZE TABLE sbtest.sbtest%d; ", i, i, w.rows, w.rows, i)
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

// byJob copies with the program of the Job.
func (w *world) byJob(ctx context.Context) (turn, error) {
	w.copies++
	base := filepath.Join(w.dir, fmt.Sprint("copy-", w.copies))
	volume, source, result := filepath.Join(base, "volume"), filepath.Join(base, "source"), filepath.Join(base, "result")
	if err := errors.Join(folder(volume), folder(source)); err != nil {
		return turn{}, err
	}
	for name, text := range map[string]string{filepath.Join(source, task.SourceUser): "mover",
		filepath.Join(source, task.SourcePassword): "secret", result: ""} {
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chown(name, mysqlID, mysqlID)); err != nil {
			return turn{}, err
		}
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
	_, err = w.runTurn(ctx, "--user", user, "--tmpfs", agentapi.RunDir+owner, "--tmpfs",
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
