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
	// guardTime is how long mysql.event is locked until the status is changed: statements about events wait meanwhile,
	// those of other nodes included. guardInterval is how often is asked whether the lock is needed still.
	guardTime     = time.Second
	guardInterval = 2 * time.Millisecond
	// alterTime is how long the server lets an ALTER EVENT take. guardLife is longer: the lock stays until the statement
	// has ended, also when it cannot be ended in another way.
	alterTime = 3 * time.Second
	guardLife = 2 * queryTimeout
)

// setEvent sets an event's status on this server only, unless the event is not as it was read any more. The definer has
// to be named, or the agent's account would become it; the time stays that of the last replicated statement. So a
// statement that came since the event was read would be undone here, and its event get the definer of the one before.
//
// Therefore the table is locked while the ALTER EVENT begins. Once it waits for the table it holds the lock on the
// event's name: statements before it have left their row, which is compared, and later ones come after it. The end of
// the caller's context closes neither session: the lock would be gone, and the ALTER EVENT carried out.
func (c Scheduler) setEvent(ctx context.Context, e eventRow, status string) (done bool, err error) {
	verb := "ENABLE"
	if status == agentapi.EventDisabled {
		verb = "DISABLE"
	}
	held, release := context.WithTimeout(context.WithoutCancel(ctx), guardLife)
	defer release()
	guard, err := c.local(held, "SET SESSION lock_wait_timeout = 1")
	if err != nil {
		return false, err
	}
	defer discard(guard)
	alter, err := c.local(held, fmt.Sprintf("SET SESSION sql_mode = '', timestamp = %d, lock_wait_timeout = %d, "+
		"max_statement_time = %[2]d", e.modified, int(alterTime.Seconds())))
	if err != nil {
		return false, err
	}
	defer discard(alter) // before the guard
	var id int64
	if err := alter.QueryRowContext(held, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		return false, err
	}
	if _, err := guard.ExecContext(held, "LOCK TABLES mysql.event READ"); err != nil {
		return false, err
	}
	altered := make(chan error, 1)
	go func() {
		_, err := alter.ExecContext(held, fmt.Sprintf("ALTER DEFINER = %s EVENT %s.%s %s", definer(e.definer), quoted(e.db),
			quoted(e.name), verb))
		altered <- err
	}()
	same, err := c.unchanged(ctx, held, guard, id, e, altered)
	if err != nil || !same {
		if killed := c.exec(held, fmt.Sprintf("KILL CONNECTION %d", id)); killed != nil {
			err = errors.Join(err, fmt.Errorf("ending the ALTER EVENT: %w", killed))
		}
		<-altered //nolint:errcheck // with the table locked: if it was not killed, the server ends it after alterTime
		return false, err
	}
	if _, err := guard.ExecContext(held, "UNLOCK TABLES"); err != nil {
		return false, err
	}
	err = <-altered
	return err == nil, err
}

// unchanged waits until the statement of a connection has the lock on the event's name, and compares the event. held is
// for the session that holds the lock of the table, which alone is not behind the statement.
func (c Scheduler) unchanged(ctx, held context.Context, guard *sql.Conn, id int64, e eventRow,
	altered chan error) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	for state := ""; !strings.HasPrefix(state, "Waiting for table"); {
		select {
		case err := <-altered:
			altered <- err
			return false, errors.Join(errors.New("the ALTER EVENT has not waited for the locked table"), err)
		case <-time.After(guardInterval):
		}
		err := c.db.QueryRowContext(ctx, "SELECT COALESCE(STATE, '') FROM information_schema.PROCESSLIST WHERE ID = ?",
			id).Scan(&state)
		switch {
		case ctx.Err() != nil:
			return false, fmt.Errorf("waiting for the ALTER EVENT to begin: %w", ctx.Err())
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return false, err
		case strings.HasPrefix(state, "Waiting for event"):
			return false, nil // another statement is changing it
		}
	}
	now, err := c.eventRows(held, guard, "db = ? AND name = ?", e.db, e.name)
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
