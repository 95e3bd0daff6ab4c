package wsrep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// guardTime is how long mysql.event is locked at most: statements about events wait meanwhile, those of other nodes
	// included. guardInterval is how often is asked whether the lock is needed still.
	guardTime     = time.Second
	guardInterval = 2 * time.Millisecond
)

// setEvent sets an event's status on this server only, unless the event is not as it was read any more. The definer has
// to be named, or the agent's account would become it; the time stays that of the last replicated statement. So a
// statement that came since the event was read would be undone here, and its event get the definer of the one before.
//
// Therefore the table is locked while the ALTER EVENT begins. Once it waits for the table it holds the lock on the
// event's name: statements before it have left their row, which is compared, and later ones come after it.
func (c Scheduler) setEvent(ctx context.Context, e eventRow, status string) (done bool, err error) {
	verb := "ENABLE"
	if status == agentapi.EventDisabled {
		verb = "DISABLE"
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	alter, err := c.local(ctx, fmt.Sprintf("SET SESSION sql_mode = '', lock_wait_timeout = 3, timestamp = %d", e.modified))
	if err != nil {
		return false, err
	}
	defer discard(alter)
	var id int64
	if err := alter.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return false, err
	}
	guard, err := c.local(ctx, "SET SESSION lock_wait_timeout = 1", "LOCK TABLES mysql.event READ")
	if err != nil {
		return false, err
	}
	defer discard(guard)
	altered := make(chan error, 1)
	go func() {
		_, err := alter.ExecContext(ctx, fmt.Sprintf("ALTER DEFINER = %s EVENT %s.%s %s", definer(e.definer), quoted(e.db),
			quoted(e.name), verb))
		altered <- err
	}()
	same, err := c.unchanged(ctx, guard, id, e, altered)
	if err != nil || !same {
		_, killed := guard.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
		return false, errors.Join(err, killed)
	}
	if _, err := guard.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
		return false, err
	}
	err = <-altered
	return err == nil, err
}

// unchanged waits until the statement of a connection has the lock on the event's name, and compares the event.
func (c Scheduler) unchanged(ctx context.Context, guard *sql.Conn, id int64, e eventRow, altered chan error) (bool,
	error) {
	limit := time.Now().Add(guardTime)
	for state := ""; !strings.HasPrefix(state, "Waiting for table"); {
		select {
		case err := <-altered:
			altered <- err
			return false, fmt.Errorf("the table was locked, and the statement has ended: %w", err)
		case <-time.After(guardInterval):
		}
		err := guard.QueryRowContext(ctx, "SELECT COALESCE(STATE, '') FROM information_schema.PROCESSLIST WHERE ID = ?",
			id).Scan(&state)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return false, err
		case strings.HasPrefix(state, "Waiting for event"):
			return false, nil // another statement is changing it
		case time.Now().After(limit):
			return false, errors.New("the statement has not begun in time")
		}
	}
	now, err := c.eventRows(ctx, guard, "db = ? AND name = ?", e.db, e.name)
	if err != nil || len(now) != 1 {
		return false, err
	}
	now[0].passed = e.passed // by time alone
	return now[0] == e, nil
}

// local returns a session of its own whose changes stay on this server, after statements. It must be discarded.
func (c Scheduler) local(ctx context.Context, statements ...string) (*sql.Conn, error) {
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range append([]string{"SET SESSION wsrep_on = OFF, sql_log_bin = 0"}, statements...) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			discard(conn)
			return nil, err
		}
	}
	return conn, nil
}

// discard closes a session that must not be used again.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }
