package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Data are what tests write into a cluster: the rows of writers, and mass.
type Data struct{ cluster *Cluster }

// Data returns the handle of what tests write into the cluster.
func (c *Cluster) Data() Data { return Data{c} }

// Grow fills a table with data that cannot be compressed away, so that a full transfer takes a while.
// A cluster that has them already is left as it is.
func (c Data) Grow(ctx context.Context, mebibytes int) error {
	const rowsAtOnce, rowBytes = 2048, 4096 // 8 MiB in one statement: a write-set stops all others while it is applied
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return err
	}
	primary, err := c.cluster.Primary(ctx)
	if err != nil {
		return err
	}
	grown, err := cl.QueryPod(ctx, primary,
		"SELECT COALESCE(SUM(data_length), 0) DIV 1048576 FROM information_schema.tables WHERE table_schema = ? AND "+
			"table_name = 'bulk'", writerDatabase)
	if have, _ := strconv.Atoi(grown); err != nil || have >= mebibytes {
		return err
	}
	statements := []string{
		"CREATE DATABASE IF NOT EXISTS " + writerDatabase, "USE " + writerDatabase,
		"CREATE TABLE IF NOT EXISTS " + writerDatabase +
			".bulk (id BIGINT AUTO_INCREMENT PRIMARY KEY, data TEXT) ENGINE=InnoDB",
	}
	insert := fmt.Sprintf("INSERT INTO %s.bulk (data) SELECT REPEAT(MD5(CONCAT(RAND(), seq)), %d) FROM seq_1_to_%d",
		writerDatabase, rowBytes/32, rowsAtOnce)
	for done := 0; done < mebibytes; done += rowsAtOnce * rowBytes >> 20 {
		statements = append(statements, insert)
	}
	return cl.Exec(ctx, c.cluster.Name+"-primary", statements...)
}

// BulkSum reports rows and contents of what Grow has written, as one node has it.
func (c Data) BulkSum(ctx context.Context, pod string) (sum string, err error) {
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return "", err
	}
	db, err := cl.OpenPod(ctx, pod)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, "SELECT CONCAT(COUNT(*), ' rows, ', BIT_XOR(CRC32(CONCAT(id, data)))) FROM "+
		writerDatabase+".bulk").Scan(&sum)
	return sum, err
}

// Written is a checksum of every row of all writers there were, as one pod has them, with how many rows each has: the
// same on two nodes, or two clusters, that hold the same.
func (c Data) Written(ctx context.Context, pod string) (string, error) {
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return "", err
	}
	tables, err := cl.QueryPod(ctx, pod,
		"SET STATEMENT wsrep_sync_wait = 1 FOR SELECT COALESCE(GROUP_CONCAT(table_name ORDER BY table_name), '') FROM "+
			"information_schema.tables WHERE table_schema = ? AND table_name LIKE 'w\\_%'", writerDatabase)
	if err != nil || tables == "" {
		return "", err
	}
	var out []string
	for table := range strings.SplitSeq(tables, ",") {
		sum, err := cl.QueryPod(ctx, pod, fmt.Sprintf(
			"SELECT CONCAT(COUNT(*), ' rows ', COALESCE(LOWER(HEX(BIT_XOR(CONV(LEFT(SHA1(CONCAT_WS(',', seq, id, payload)), "+
				"16), 16, 10)))), '')) FROM %s.%s", writerDatabase, table))
		if err != nil {
			return "", err
		}
		out = append(out, table+" "+sum)
	}
	return strings.Join(out, "; "), nil
}
