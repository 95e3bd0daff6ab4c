package main

import (
	"context"
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

// catchUp has the source written to while no channel runs, and then the node apply that.
func (w *world) catchUp(ctx context.Context) (written, applied float64, err error) {
	if w.node == "" {
		if err := w.startNode(ctx); err != nil {
			return 0, 0, err
		}
	}
	out, err := harness.Docker(ctx, "run", "--rm", "--network", "container:"+w.source, w.sysbench, "sysbench",
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
	from := time.Now()
	reached, err := w.query(ctx, w.node, "/tmp/s", "START SLAVE; SELECT MASTER_GTID_WAIT('"+position+
		"', 1800); STOP SLAVE")
	if err != nil {
		return 0, 0, err
	}
	took := time.Since(from)
	if reached != "0" {
		status, _ := w.query(ctx, w.node, "/tmp/s", "SHOW SLAVE STATUS\\G")
		return 0, 0, fmt.Errorf("the node did not reach %s:\n%s", position, status)
	}
	return written, count / took.Seconds(), nil
}
