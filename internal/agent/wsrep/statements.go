package wsrep

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// Rebuild writes a table anew on this server alone: nothing of it is replicated, or gets into the binary log. It does
// not wait for those who use the table.
func (c *Conn) Rebuild(ctx context.Context, schema, table string) error {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // its session is like no other
		_ = conn.Close()
	}()
	for _, statement := range []string{
		"SET SESSION wsrep_on = OFF, sql_log_bin = OFF, lock_wait_timeout = 5, max_statement_time = 60",
		fmt.Sprintf("ALTER TABLE `%s`.`%s` FORCE", schema, table),
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Numbers are the GTIDs that the nodes of a cluster count.
type Numbers struct {
	*Conn
	mu sync.Mutex
	at int64 // the seqno at which they were aligned
}

const (
	// jump is how far beyond every node's number the common one is: what other sessions commit meanwhile does not reach
	// it.
	jump = 500
	// maxJumps is how often it is doubled for a server that counts further than its binary log shows.
	maxJumps = 20
	// wrongValue is the error of a number that the server has passed.
	wrongValue = 1231
	// numbersDatabase has a table as long as the nodes are aligned.
	numbersDatabase = "galera_operator_numbers"
)

// Align has all nodes count GTIDs from one number on, which no node has reached. Nothing is done on a node that is not
// Synced, or while a member is away.
func (n *Numbers) Align(ctx context.Context, a agentapi.Alignment) (number uint64, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.Seqno <= n.at {
		return 0, nil
	}
	status, err := n.Status(ctx)
	switch {
	case err != nil:
		return 0, err
	case status.Server.State != galera.NodeSynced || status.Server.Component != galera.ComponentPrimary:
		return 0, errors.New("the node is not Synced in the Primary component")
	case status.Server.Size != a.Size:
		return 0, fmt.Errorf("the component has %s instead of %d", galera.Count(status.Server.Size, "member"), a.Size)
	}
	if number, err = n.align(ctx, a.Spread); err != nil {
		return 0, err
	}
	if status, err = n.Status(ctx); err == nil {
		n.at = status.Position.Seqno
	}
	return number, nil
}

func (n *Numbers) align(ctx context.Context, spread uint64) (number uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*queryTimeout)
	defer cancel()
	conn, err := n.db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer discard(conn) // its settings end with it
	if _, err := conn.ExecContext(ctx, "SET SESSION wsrep_on = ON, sql_log_bin = 1, wsrep_OSU_method = 'TOI', "+
		"lock_wait_timeout = 3"); err != nil {
		return 0, err
	}
	var all string
	var domain uint32
	var mode, logs bool
	if err := conn.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos, @@wsrep_gtid_domain_id, @@wsrep_gtid_mode, @@log_bin").
		Scan(&all, &domain, &mode, &logs); err != nil {
		return 0, err
	}
	if !mode || !logs {
		return 0, errors.New("the node does not write a binary log")
	}
	last := lastOf(all, domain)
	for _, statement := range []string{"CREATE DATABASE IF NOT EXISTS " + numbersDatabase,
		"CREATE OR REPLACE TABLE " + numbersDatabase + ".numbers (number BIGINT UNSIGNED PRIMARY KEY) ENGINE = InnoDB"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return 0, err
		}
	}
	defer func() {
		// Also when the question was given up meanwhile, which has closed the connection.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer cancel()
		_, dropped := n.db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+numbersDatabase)
		err = errors.Join(err, dropped)
	}()
	for i := 0; ; i++ {
		number = last + spread + jump<<i
		_, err := conn.ExecContext(ctx, fmt.Sprintf("SET SESSION wsrep_gtid_seq_no = %d", number))
		if sqlrows.ErrorNumber(err) == wrongValue && i < maxJumps {
			continue
		}
		if err != nil {
			return 0, err
		}
		// Rows: nodes that apply a statement which changes tables do not take the session's number for it.
		_, err = conn.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s.numbers VALUES (%d)", numbersDatabase, number))
		return number, err
	}
}

// lastOf is the number of a domain's last transaction in a position: one GTID for each domain.
func lastOf(position string, domain uint32) (number uint64) {
	for gtid := range strings.SplitSeq(position, ",") {
		var d, server uint32
		var n uint64
		if _, err := fmt.Sscanf(gtid, "%d-%d-%d", &d, &server, &n); err == nil && d == domain {
			number = max(number, n)
		}
	}
	return number
}
