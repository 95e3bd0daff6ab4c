package wsrep

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
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
	// has ended, also when it cannot be ended in another way. It is less than the 5 s after which a server asks whether
	// the client of a statement that sleeps is gone.
	alterTime = 3 * time.Second
	guardLife = 4500 * time.Millisecond
)

// setEvent sets an event's status on this server only, unless the event is not as it was read any more. The definer has
// to be named, or the agent's account would become it; the time stays that of the last replicated statement. So a
// statement that came since the event was read would be undone here, and its event get the definer of the one before.
//
// Therefore the table is locked while the ALTER EVENT begins. Once it waits for the table it holds the lock on the
// event's name: statements before it have left their row, which is compared, and later ones come after it. Neither the
// end of the caller's context nor that of this process ends the lock before the ALTER EVENT: it would be carried out.
func (c Scheduler) setEvent(ctx context.Context, e eventRow, status string) (done bool, err error) {
	verb := "ENABLE"
	if status == agentapi.EventDisabled {
		verb = "DISABLE"
	}
	c.altering.Lock()
	defer c.altering.Unlock()
	held, release := context.WithTimeout(context.WithoutCancel(ctx), 2*queryTimeout)
	defer release()
	alter, err := c.local(held, fmt.Sprintf("SET SESSION sql_mode = '', timestamp = %d, lock_wait_timeout = %d, "+
		"max_statement_time = %[2]d", e.modified, int(alterTime.Seconds())))
	if err != nil {
		return false, err
	}
	defer discard(alter)
	id, err := connectionID(held, alter)
	if err != nil {
		return false, err
	}
	guard, unlock, err := c.lockEvents(held)
	if err != nil {
		return false, err
	}
	altered := make(chan error, 1)
	go func() {
		_, err := alter.ExecContext(held, fmt.Sprintf("ALTER DEFINER = %s EVENT %s.%s %s", definer(e.definer), quoted(e.db),
			quoted(e.name), verb))
		altered <- err
	}()
	same, err := c.unchanged(ctx, guard, id, e, altered)
	if err != nil || !same {
		if killed := c.exec(held, fmt.Sprintf("KILL CONNECTION %d", id)); killed != nil {
			err = errors.Join(err, fmt.Errorf("ending the ALTER EVENT: %w", killed))
		}
		<-altered //nolint:errcheck // with the table locked: if it was not killed, the server ends it after alterTime
		return false, errors.Join(err, unlock())
	}
	if err := unlock(); err != nil {
		return false, errors.Join(err, <-altered)
	}
	err = <-altered
	return err == nil, err
}

// lockEvents locks mysql.event, and unlocks it by the function it returns, or by itself after guardLife. guard may read
// the table, which other sessions cannot while a statement waits for it. A session that waits for its client loses its
// locks when that is killed. So another one has the lock, too, and sleeps.
func (c Scheduler) lockEvents(ctx context.Context) (guard *sql.Conn, unlock func() error, err error) {
	const wait, lock = "SET SESSION lock_wait_timeout = 1", "LOCK TABLES mysql.event READ"
	if guard, err = c.local(ctx, wait, lock); err != nil {
		return nil, nil, err
	}
	sleeper, err := c.local(ctx, wait, lock)
	if err != nil {
		discard(guard)
		return nil, nil, err
	}
	id, err := connectionID(ctx, sleeper)
	if err != nil {
		discard(sleeper)
		discard(guard)
		return nil, nil, err
	}
	slept := make(chan error, 1)
	go func() {
		_, err := sleeper.ExecContext(ctx, fmt.Sprintf("DO SLEEP(%g)", guardLife.Seconds()))
		slept <- err
	}()
	unlock = func() error {
		err := c.exec(ctx, fmt.Sprintf("KILL CONNECTION %d", id))
		<-slept //nolint:errcheck // KILL is its end
		discard(sleeper)
		discard(guard)
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	if _, err := c.awaitState(waiting, id, slept, "User sleep"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("locking mysql.event: %w", err), unlock())
	}
	return guard, unlock, nil
}

// unchanged waits until the statement of a connection has the lock on the event's name, and compares the event.
func (c Scheduler) unchanged(ctx context.Context, guard *sql.Conn, id int64, e eventRow, altered chan error) (bool,
	error) {
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	state, err := c.awaitState(ctx, id, altered, "Waiting for table", "Waiting for event")
	switch {
	case err != nil:
		return false, fmt.Errorf("waiting until the ALTER EVENT waits for the table: %w", err)
	case strings.HasPrefix(state, "Waiting for event"):
		return false, nil // another statement is changing it
	}
	now, err := c.eventRows(ctx, guard, "db = ? AND name = ?", e.db, e.name)
	if err != nil || len(now) != 1 {
		return false, err
	}
	now[0].passed = e.passed // by time alone
	return now[0] == e, nil
}

// awaitState waits until the statement of a connection is in a state that begins with one of those.
func (c Scheduler) awaitState(ctx context.Context, id int64, ended chan error, begins ...string) (string, error) {
	for {
		select {
		case err := <-ended:
			ended <- err
			return "", errors.Join(errors.New("it has ended"), err)
		case <-time.After(guardInterval):
		}
		state := ""
		err := c.db.QueryRowContext(ctx, "SELECT COALESCE(STATE, '') FROM information_schema.PROCESSLIST WHERE ID = ?",
			id).Scan(&state)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return "", err
		case slices.ContainsFunc(begins, func(s string) bool { return strings.HasPrefix(state, s) }):
			return state, nil
		}
	}
}

func connectionID(ctx context.Context, conn *sql.Conn) (id int64, err error) {
	err = conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id)
	return id, err
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
