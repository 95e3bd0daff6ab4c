package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// Grow fills a table with data that cannot be compressed away, so that a full transfer takes a while.
// A cluster that has them already is left as it is.
func (c *Cluster) Grow(ctx context.Context, mebibytes int) error {
	const rowsAtOnce, rowBytes = 2048, 4096 // 8 MiB in one statement: a write-set stops all others while it is applied
	cl, err := c.Client(ctx)
	if err != nil {
		return err
	}
	primary, err := c.Primary(ctx)
	if err != nil {
		return err
	}
	grown, err := cl.QueryPod(ctx, primary, "SELECT COALESCE(SUM(data_length), 0) DIV 1048576 FROM information_schema.tables WHERE table_schema = ? AND table_name = 'bulk'", writerDatabase)
	if have, _ := strconv.Atoi(grown); err != nil || have >= mebibytes {
		return err
	}
	statements := []string{
		"CREATE DATABASE IF NOT EXISTS " + writerDatabase, "USE " + writerDatabase,
		"CREATE TABLE IF NOT EXISTS " + writerDatabase + ".bulk (id BIGINT AUTO_INCREMENT PRIMARY KEY, data TEXT) ENGINE=InnoDB",
	}
	insert := fmt.Sprintf("INSERT INTO %s.bulk (data) SELECT REPEAT(MD5(CONCAT(RAND(), seq)), %d) FROM seq_1_to_%d", writerDatabase, rowBytes/32, rowsAtOnce)
	for done := 0; done < mebibytes; done += rowsAtOnce * rowBytes >> 20 {
		statements = append(statements, insert)
	}
	return cl.Exec(ctx, c.Name+"-primary", statements...)
}

// BulkSum tells rows and contents of what Grow has written, as one node has it.
func (c *Cluster) BulkSum(ctx context.Context, pod string) (sum string, err error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return "", err
	}
	db, err := cl.OpenPod(ctx, pod)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, "SELECT CONCAT(COUNT(*), ' rows, ', BIT_XOR(CRC32(CONCAT(id, data)))) FROM "+writerDatabase+".bulk").Scan(&sum)
	return sum, err
}

// backupProcess is how the donor's backup is called: the program itself, not the script, which waits first.
const backupProcess = "mariadb-backup --defaults-file"

// WaitTransfer waits until a full state transfer goes on, and returns who gives the data.
func (c *Cluster) WaitTransfer(ctx context.Context, joiner string, timeout time.Duration) (donor string, err error) {
	pods, err := c.PodNames(ctx)
	if err != nil {
		return "", err
	}
	for end := time.Now().Add(timeout); time.Now().Before(end); pause(ctx, 20*time.Millisecond) {
		for _, pod := range pods {
			if pod == joiner {
				continue
			}
			if giving, err := c.Gives(ctx, pod); err == nil && giving {
				return pod, nil
			}
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
	}
	return "", fmt.Errorf("no transfer to %s began within %s", joiner, timeout)
}

// Gives says that a node is giving a full copy of its data right now.
func (c *Cluster) Gives(ctx context.Context, pod string) (bool, error) {
	return c.HasProcess(ctx, pod, backupProcess)
}

// KillBackup sends SIGKILL to the backup a donor gives its data with, and to nothing else: its server goes on.
func (c *Cluster) KillBackup(ctx context.Context, donor string) error {
	p, err := c.Pod(ctx, donor)
	if err != nil {
		return err
	}
	killed, err := killInPod(p, "mariadb-backup", syscall.SIGKILL)
	if err == nil && killed == 0 {
		err = fmt.Errorf("%s makes no backup", donor)
	}
	return err
}
