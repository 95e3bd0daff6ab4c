package wsrep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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

// clients are the connections over the network, and whether each is between two transactions, and sends a binary log.
// Those over the socket are the agent's own, and those of people in the container.
const clients = `SELECT p.ID, p.COMMAND = 'Sleep' AND t.trx_id IS NULL, p.COMMAND LIKE 'Binlog Dump%'
FROM information_schema.PROCESSLIST p LEFT JOIN information_schema.INNODB_TRX t ON t.trx_mysql_thread_id = p.ID
WHERE p.HOST LIKE '%:%'`

// client is a connection over the network.
type client struct {
	id int64
	// idle reports whether it is between two transactions, replica whether it is sent the binary log.
	idle, replica bool
}

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
		now = slices.DeleteFunc(now, func(of client) bool { return of.replica })
		if first == nil {
			first = map[int64]bool{}
			for _, of := range now {
				first[of.id] = true
			}
		}
		left := 0
		for _, of := range now {
			if !first[of.id] {
				continue
			}
			left++
			if of.idle {
				if err := c.end(ctx, of.id); err != nil {
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

// FirstEncrypted returns an id that is larger than those of all clients that have logged in over the network without
// TLS. It fails while the server does not require TLS.
func (c *Conn) FirstEncrypted(ctx context.Context) (id int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var required bool
	err = c.db.QueryRowContext(ctx, "SELECT @@GLOBAL.require_secure_transport").Scan(&required)
	if err != nil {
		return 0, err
	}
	if !required {
		return 0, errors.New("require_secure_transport is OFF")
	}
	// Ids grow, and a client has its own before it logs in. The pool's connections have earlier ones.
	fresh := sql.OpenDB(c.connector)
	defer func() { _ = fresh.Close() }()
	err = fresh.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id)
	return id, err
}

// EndBefore ends those clients with ids below a limit that are between two transactions, and returns how many there
// were with such ids, the others included. The server goes on serving meanwhile.
func (c *Conn) EndBefore(ctx context.Context, limit int64) (count int, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	now, err := c.clients(ctx)
	if err != nil {
		return 0, err
	}
	count, free := before(now, limit)
	for _, id := range free {
		if err := c.end(ctx, id); err != nil {
			return 0, err
		}
	}
	return count, nil
}

// before returns how many clients have ids below a limit, and which of them may be ended now. A replica has no
// transaction on this server: it connects again, and reads on where it was.
func before(all []client, limit int64) (count int, free []int64) {
	for _, of := range all {
		if of.id >= limit {
			continue
		}
		count++
		if of.idle || of.replica {
			free = append(free, of.id)
		}
	}
	return count, free
}

func (c *Conn) clients(ctx context.Context) ([]client, error) {
	return sqlrows.Collect(ctx, c.db, func(rows *sql.Rows) (of client, err error) {
		err = rows.Scan(&of.id, &of.idle, &of.replica)
		return of, err
	}, clients)
}

// end closes a connection, softly: a statement that has begun meanwhile is not cut in a critical section.
func (c *Conn) end(ctx context.Context, id int64) error {
	_, err := c.db.ExecContext(ctx, fmt.Sprintf("KILL SOFT CONNECTION %d", id))
	if sqlrows.ErrorNumber(err) == errNoSuchThread {
		return nil
	}
	return err
}
