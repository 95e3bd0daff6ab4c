package wsrep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/sqlrows"
)

// Scheduler is the event scheduler of the server behind a connection.
type Scheduler struct{ *Conn }

// recent are the places of a report that the events of the latest statements have. The rest take turns in the others, a
// minute each: by the clock, so that the nodes report the same ones.
const recent = agentapi.MaxEvents - turn

// turn is how many events have a turn.
const turn = 64

// eventsQuery reads events in an order that is the same on all nodes: of each database the latest statement's first, so
// that the events of one database do not keep those of others from being reported. The second of a statement is over
// when the server's clock is in a later one.
var eventsQuery = fmt.Sprintf(`SELECT db, name, status, seconds, missed, total FROM (
	SELECT e.*, ROW_NUMBER() OVER (ORDER BY place, modified DESC, db, name) - 1 AS nth, COUNT(*) OVER () AS total FROM (
		SELECT db, name, status, modified, ROW_NUMBER() OVER (PARTITION BY db ORDER BY modified DESC, name) AS place,
			IF(UNIX_TIMESTAMP(modified) < FLOOR(UNIX_TIMESTAMP(SYSDATE())), UNIX_TIMESTAMP(modified), 0) AS seconds,
			status = 'DISABLED' AND on_completion = 'DROP' AND COALESCE(execute_at < UTC_TIMESTAMP(), FALSE) AS missed
		FROM mysql.event) e) e
	WHERE nth < %d OR (nth - %d) DIV %d = FLOOR(UNIX_TIMESTAMP(SYSDATE()) / 60) MOD CEIL((total - %d) / %d)
	ORDER BY db, name LIMIT %d`, recent, recent, turn, recent, turn, agentapi.MaxEvents)

// Read reads the events of a server that serves.
func (c Scheduler) Read(ctx context.Context) (*agentapi.Scheduled, error) {
	v, err := c.show(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('event_scheduler')")
	if err != nil {
		return nil, err
	}
	out := &agentapi.Scheduled{On: v["event_scheduler"] == "ON"}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	all := 0
	out.Events, err = sqlrows.Collect(ctx, c.db, func(rows *sql.Rows) (e agentapi.ScheduledEvent, err error) {
		err = rows.Scan(&e.Database, &e.Event, &e.Status, &e.Modified, &e.Missed, &all)
		e.Name = e.Database + "." + e.Event
		return e, err
	}, eventsQuery)
	if err != nil {
		return nil, err
	}
	out.More = all - len(out.Events)
	return out, nil
}

// Close turns it off. It works on a non-Primary node, too.
func (c Scheduler) Close(ctx context.Context) error {
	return c.exec(ctx, "SET GLOBAL event_scheduler = OFF")
}

// Open turns it on. Events for one point in time that has passed are disabled before: the
// scheduler would run them at once, and another node may have run them.
func (c Scheduler) Open(ctx context.Context) error {
	passed, err := c.eventRows(ctx, c.db, "status = 'ENABLED' AND execute_at < UTC_TIMESTAMP()")
	if err != nil {
		return err
	}
	for _, e := range passed {
		done, err := c.setEvent(ctx, e, agentapi.EventDisabled)
		if err == nil && !done {
			err = errors.New("a statement has changed it meanwhile")
		}
		if err != nil {
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
	rows, err := c.eventRows(ctx, c.db, where, change.Database, change.Event, change.Modified, change.Status)
	if err != nil || len(rows) == 0 {
		return err
	}
	to := change.Status
	if rows[0].passed {
		to = agentapi.EventDisabled
	}
	_, err = c.setEvent(ctx, rows[0], to)
	return err
}

// eventRow is what an ALTER EVENT needs in order to change nothing but the status.
type eventRow struct {
	db, name, definer, status string
	modified                  int64
	passed                    bool
}

func (c Scheduler) eventRows(ctx context.Context, on sqlrows.Querier, where string, args ...any) ([]eventRow, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return sqlrows.Collect(ctx, on, func(rows *sql.Rows) (e eventRow, err error) {
		err = rows.Scan(&e.db, &e.name, &e.definer, &e.status, &e.modified, &e.passed)
		return e, err
	}, "SELECT db, name, definer, status, UNIX_TIMESTAMP(modified), "+
		"COALESCE(execute_at < UTC_TIMESTAMP(), FALSE) FROM mysql.event WHERE "+where, args...)
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
