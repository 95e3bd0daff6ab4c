package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

// nodeScript is a node that follows: a Galera cluster of one, with what the operator sets for that.
const nodeScript = `exec mariadbd --no-defaults --datadir=/var/lib/mysql/data --socket=/tmp/s --pid-file=/tmp/pid \
  --skip-networking --skip-grant-tables --binlog-format=ROW --log-bin=binlog --log-slave-updates=ON --server-id=90 \
  --innodb-autoinc-lock-mode=2 --innodb-flush-log-at-trx-commit=%s --innodb-buffer-pool-size=%dM --skip-slave-start \
  --wsrep-on=ON --wsrep-provider=$(find / -xdev -name libgalera_smm.so 2>/dev/null | head -n 1) \
  --wsrep-cluster-address=gcomm:// --wsrep-node-address=127.0.0.1 --wsrep-gtid-mode=ON --wsrep-gtid-domain-id=9 \
  --gtid-strict-mode=ON --wsrep-mode=STRICT_REPLICATION --wsrep-new-cluster`

// startNode starts one on the last copy, whose data have the position to follow from.
func (w *world) startNode(ctx context.Context) error {
	w.node = w.source + "-node"
	if w.last == "" {
		return errors.New("there is no copy to start a node on")
	}
	if _, err := harness.Docker(ctx, "run", "-d", "--name", w.node, "--user", fmt.Sprint(mysqlID), "-v",
		filepath.Join(w.last, "data")+":/var/lib/mysql/data", "--entrypoint=sh", w.image, "-c",
		fmt.Sprintf(nodeScript, "2", w.pool)); err != nil {
		return err
	}
	if err := w.serves(ctx, w.node, "/tmp/s"); err != nil {
		return err
	}
	_, err := w.query(ctx, w.node, "/tmp/s", fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_USER = 'mover', "+
		"MASTER_PASSWORD = 'secret', MASTER_SSL = 0, MASTER_USE_GTID = slave_pos", w.address))
	return err
}

var transactions = regexp.MustCompile(`transactions:\s+(\d+)\s+\(([\d.]+) per sec`)

// catchUp has the source written to while no channel runs, and then the node apply that, with one thread or so many
// parallel ones.
func (w *world) catchUp(ctx context.Context, appliers int) (written, applied float64, err error) {
	if w.node == "" {
		if err := w.startNode(ctx); err != nil {
			return 0, 0, err
		}
	}
	out, err := w.runTurn(ctx, "--network", "container:"+w.source, w.sysbench, "sysbench",
		"oltp_write_only", "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=mover", "--mysql-password=secret",
		fmt.Sprint("--tables=", w.tables), fmt.Sprint("--table-size=", w.rows), fmt.Sprint("--threads=", w.threads),
		fmt.Sprint("--time=", w.turn.Seconds()), "--mysql-ignore-errors=1020,1205,1213", "run")
	if err != nil {
		return 0, 0, err
	}
	found := transactions.FindStringSubmatch(out)
	if found == nil {
		return 0, 0, fmt.Errorf("sysbench printed no transactions: %s", out)
	}
	count, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return 0, 0, err
	}
	if written, err = strconv.ParseFloat(found[2], 64); err != nil {
		return 0, 0, err
	}
	position, err := w.query(ctx, w.source, "/tmp/s", "SELECT @@gtid_binlog_pos")
	if err != nil {
		return 0, 0, err
	}
	if _, err := w.query(ctx, w.node, "/tmp/s", fmt.Sprint("SET GLOBAL slave_parallel_threads = ", appliers)); err != nil {
		return 0, 0, err
	}
	from := time.Now()
	if err := w.awaitPosition(ctx, position); err != nil {
		return 0, 0, err
	}
	took := time.Since(from)
	_, err = w.query(ctx, w.node, "/tmp/s", "STOP SLAVE")
	return written, count / took.Seconds(), err
}

// stopped is a channel that has ended with an error.
var stopped = regexp.MustCompile(`Last_SQL_Errno: [1-9]`)

// awaitPosition has the node apply what there is until a position.
func (w *world) awaitPosition(ctx context.Context, position string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, turnTime, fmt.Errorf("not within %s", turnTime))
	defer cancel()
	wait := "SELECT MASTER_GTID_WAIT('" + position + "', 5)"
	for statements := "START SLAVE; " + wait; ; statements = wait {
		reached, err := w.query(ctx, w.node, "/tmp/s", statements)
		if reached == "0" && err == nil {
			return nil
		}
		status, also := w.query(context.WithoutCancel(ctx), w.node, "/tmp/s", "SHOW SLAVE STATUS\\G")
		cause := errors.Join(context.Cause(ctx), err, also)
		if cause == nil && stopped.MatchString(status) {
			cause = errors.New("its channel has stopped")
		}
		if cause != nil {
			return fmt.Errorf("the node did not reach %s: %w\n%s", position, cause, status)
		}
	}
}
