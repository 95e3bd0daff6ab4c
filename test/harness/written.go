package harness

import (
	"context"
	"fmt"
	"strings"
)

// Written is a checksum of every row of all writers there were, as one pod has them, with how many rows each has: the same on two nodes, or
// two clusters, that hold the same.
func (c *Cluster) Written(ctx context.Context, pod string) (string, error) {
	cl, err := c.Client(ctx)
	if err != nil {
		return "", err
	}
	tables, err := cl.QueryPod(ctx, pod, "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT COALESCE(GROUP_CONCAT(table_name ORDER BY table_name), '') FROM information_schema.tables WHERE table_schema = ? AND table_name LIKE 'w\\_%'", writerDatabase)
	if err != nil || tables == "" {
		return "", err
	}
	var out []string
	for table := range strings.SplitSeq(tables, ",") {
		sum, err := cl.QueryPod(ctx, pod, fmt.Sprintf("SELECT CONCAT(COUNT(*), ' rows ', COALESCE(LOWER(HEX(BIT_XOR(CONV(LEFT(SHA1(CONCAT_WS(',', seq, id, payload)), 16), 16, 10)))), '')) FROM %s.%s", writerDatabase, table))
		if err != nil {
			return "", err
		}
		out = append(out, table+" "+sum)
	}
	return strings.Join(out, "; "), nil
}
