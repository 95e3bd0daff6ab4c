package wsrep

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Scheduler is the event scheduler of the server behind a connection.
type Scheduler struct{ *Conn }

// Read reads the events of a server that serves.
func (c Scheduler) Read(ctx context.Context) (*agentapi.Scheduled, error) {
	v, err := c.show(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('event_scheduler')")
	if err != nil {
		return nil, err
	}
	out := &agentapi.Scheduled{On: v["event_scheduler"] == "ON"}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	// The second of a statement is over when the server's clock is in a later one.
	rows, err := c.db.QueryContext(ctx, "SELECT db, name, status, "+
		"IF(UNIX_TIMESTAMP(modified) < FLOOR(UNIX_TIMESTAMP(SYSDATE())), UNIX_TIMESTAMP(modified), 0), "+
		"status = 'DISABLED' AND on_completion = 'DROP' AND COALESCE(execute_at < UTC_TIMESTAMP(), FALSE), "+
		"COUNT(*) OVER () FROM mysql.event ORDER BY db, name LIMIT "+fmt.Sprint(agentapi.MaxEvents))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	all := 0
	for rows.Next() {
		var e agentapi.ScheduledEvent
		if err := rows.Scan(&e.Database, &e.Event, &e.Status, &e.Modified, &e.Missed, &all); err != nil {
			return nil, err
		}
		e.Name = e.Database + "." + e.Event
		out.Events = append(out.Events, e)
	}
	out.More = all - len(out.Events)
	return out, rows.Err()
}

// Close turns it off. It works on a non-Primary node, too.
func (c Scheduler) Close(ctx context.Context) error {
	return c.exec(ctx, "SET GLOBAL event_scheduler = OFF")
}

// Open turns it on. Events for one point in time that has passed are disabled before: the
// scheduler would run them at once, and another node may have run them.
func (c Scheduler) Open(ctx context.Context) error {
	passed, err := c.eventRows(ctx, "status = 'ENABLED' AND execute_at < UTC_TIMESTAMP()")
	if err != nil {
		return err
	}
	for _, e := range passed {
		if err := c.setEvent(ctx, e, agentapi.EventDisabled); err != nil {
			return fmt.Errorf("disabling event %s.%s: %w", e.db, e.name, err)
		}
	}
	return c.exec(ctx, "SET GLOBAL event_scheduler = ON")
}

// Change gives an event another status, on this server only, unless a statement has changed the event since then.
// An event that is disabled here stays so: it has ended. One for a point in time that has passed is disabled, because
// it would run at once.
func (c Scheduler) Change(ctx context.Context, change agentapi.EventChange) error {
	where := "db = ? AND name = ? AND UNIX_TIMESTAMP(modified) = ? AND status NOT IN ('DISABLED', ?)"
	rows, err := c.eventRows(ctx, where, change.Database, change.Event, change.Modified, change.Status)
	if err != nil || len(rows) == 0 {
		return err
	}
	to := change.Status
	if rows[0].passed {
		to = agentapi.EventDisabled
	}
	return c.setEvent(ctx, rows[0], to)
}

// eventRow is what an ALTER EVENT needs in order to change nothing but the status.
type eventRow struct {
	db, name, definer string
	modified          int64
	passed            bool
}

func (c Scheduler) eventRows(ctx context.Context, where string, args ...any) (out []eventRow, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := c.db.QueryContext(ctx, "SELECT db, name, definer, UNIX_TIMESTAMP(modified), "+
		"COALESCE(execute_at < UTC_TIMESTAMP(), FALSE) FROM mysql.event WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var e eventRow
		if err := rows.Scan(&e.db, &e.name, &e.definer, &e.modified, &e.passed); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// setEvent sets an event's status on this server only. The definer has to be named, or the agent's account would become
// it; the time stays that of the last replicated statement.
func (c Scheduler) setEvent(ctx context.Context, e eventRow, status string) error {
	verb := "ENABLE"
	if status == agentapi.EventDisabled {
		verb = "DISABLE"
	}
	return c.local(ctx,
		fmt.Sprintf("SET SESSION sql_mode = '', lock_wait_timeout = 3, timestamp = %d", e.modified),
		fmt.Sprintf("ALTER DEFINER = %s EVENT %s.%s %s", definer(e.definer), quoted(e.db), quoted(e.name), verb))
}

// local runs statements in a session of their own whose changes stay on this server.
func (c Scheduler) local(ctx context.Context, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // this session must not be used again
	for _, s := range append([]string{"SET SESSION wsrep_on = OFF, sql_log_bin = 0"}, statements...) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// definer quotes user@host as mysql.event has it. A role has no host.
func definer(of string) string {
	at := strings.LastIndexByte(of, '@')
	if at < 0 || at == len(of)-1 {
		return literal(strings.TrimSuffix(of, "@"))
	}
	return literal(of[:at]) + "@" + literal(of[at+1:])
}

// quoted quotes a name of a database or an event.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
