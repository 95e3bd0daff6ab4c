package wsrep

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

const (
	// clientsInterval is the pause between two queries for who is still there. InnoDB reports transactions from a snapshot
	// that it renews when it was not read for a tenth of a second (trx0i_s.cc): more frequent reads see the first one
	// forever.
	clientsInterval = 120 * time.Millisecond
	// errNoSuchThread is ER_NO_SUCH_THREAD: the connection has ended by itself.
	errNoSuchThread = 1094
)

// clients are the connections over the network, and whether each is between two transactions. Those over the socket are
// the agent's own, and those of people in the container.
const clients = `SELECT p.ID, p.COMMAND = 'Sleep' AND t.trx_id IS NULL
FROM information_schema.PROCESSLIST p LEFT JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = p.ID
WHERE p.HOST LIKE '%:%' AND p.COMMAND NOT LIKE 'Binlog Dump%'`

// CloseIdle closes the connections of clients, each between two of its transactions, and returns when those that were
// there at the beginning are gone. The server goes on serving meanwhile, new clients too. It returns ctx's error when
// that ends first.
func (c *Conn) CloseIdle(ctx context.Context) error {
	var first map[int64]bool
	for {
		now, err := c.clients(ctx)
		if err != nil {
			return err
		}
		if first == nil {
			first = now
		}
		left := 0
		for id, idle := range now {
			if _, was := first[id]; !was {
				continue
			}
			left++
			if idle {
				if err := c.end(ctx, id); err != nil {
					return err
				}
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(clientsInterval):
		}
	}
}

func (c *Conn) clients(ctx context.Context) (map[int64]bool, error) {
	out := map[int64]bool{}
	err := sqlrows.Each(ctx, c.db, clients, nil, func(rows *sql.Rows) error {
		var id int64
		var idle bool
		err := rows.Scan(&id, &idle)
		out[id] = idle
		return err
	})
	return out, err
}

// end closes a connection, softly: a statement that has begun meanwhile is not cut in a critical section.
func (c *Conn) end(ctx context.Context, id int64) error {
	_, err := c.db.ExecContext(ctx, fmt.Sprintf("KILL SOFT CONNECTION %d", id))
	if sqlrows.ErrorNumber(err) == errNoSuchThread {
		return nil
	}
	return err
}
