package tables

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// script is a server that gives set answers: the first one whose text is in a statement. Without one there are no rows,
// and a statement succeeds.
type script struct {
	answers []reply
	sent    []string // statements that ask for no rows
}

type reply struct {
	to   string
	rows [][]any
	err  error
}

// db is a client of it. One connection is enough for all that is asked.
func (s *script) db(t *testing.T) *sql.DB {
	db := sql.OpenDB(s)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (s *script) answer(text string) reply {
	i := slices.IndexFunc(s.answers, func(r reply) bool { return strings.Contains(text, r.to) })
	if i < 0 {
		return reply{}
	}
	return s.answers[i]
}

// Connect implements driver.Connector.
func (s *script) Connect(context.Context) (driver.Conn, error) { return &scripted{s}, nil }

// Driver implements driver.Connector.
func (s *script) Driver() driver.Driver { return nil }

type scripted struct{ *script }

// Prepare implements driver.Conn.
func (c *scripted) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }

// Close implements driver.Conn.
func (c *scripted) Close() error { return nil }

// Begin implements driver.Conn.
func (c *scripted) Begin() (driver.Tx, error) { return nil, errors.New("no transaction") }

// QueryContext implements driver.QueryerContext.
func (c *scripted) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	r := c.answer(withArgs(text, args))
	return &answered{rows: r.rows}, r.err
}

// ExecContext implements driver.ExecerContext.
func (c *scripted) ExecContext(_ context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	text = withArgs(text, args)
	c.sent = append(c.sent, text)
	return driver.RowsAffected(1), c.answer(text).err
}

func withArgs(text string, args []driver.NamedValue) string {
	for _, a := range args {
		text = strings.Replace(text, "?", fmt.Sprintf("'%v'", a.Value), 1)
	}
	return text
}

// answered are rows.
type answered struct{ rows [][]any }

// Columns implements driver.Rows.
func (a *answered) Columns() []string {
	if len(a.rows) == 0 {
		return nil
	}
	return make([]string, len(a.rows[0]))
}

// Close implements driver.Rows.
func (a *answered) Close() error { return nil }

// Next implements driver.Rows.
func (a *answered) Next(to []driver.Value) error {
	if len(a.rows) == 0 {
		return io.EOF
	}
	for i, v := range a.rows[0] {
		to[i] = v
	}
	a.rows = a.rows[1:]
	return nil
}
