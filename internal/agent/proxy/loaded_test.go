package proxy

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// accepting is an admin interface that takes every statement, and has no rows.
type accepting struct{ driver.Conn }

func (a accepting) Connect(context.Context) (driver.Conn, error) { return a, nil }
func (accepting) Driver() driver.Driver                          { return nil }
func (accepting) Close() error                                   { return nil }
func (accepting) Columns() []string                              { return []string{"x"} }
func (accepting) Next([]driver.Value) error                      { return io.EOF }

func (accepting) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.ResultNoRows, nil
}

func (a accepting) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return a, nil
}

// TestTheLoadedRevisionIsReported: a state that is published after the one before was loaded, and before that is
// reported, is not reported as loaded: its primary is not written to yet.
func TestTheLoadedRevisionIsReported(t *testing.T) {
	db := sql.OpenDB(accepting{})
	defer func() { _ = db.Close() }()
	p := &proxy{Options: Options{Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}, kick: make(chan struct{}, 1),
		run: run{process: &mariadbd.Process{}, admin: admin{db}, applied: map[string][]string{}, started: true}}
	first, second := state(), state()
	second.Revision++
	for i, step := range []func(){func() { p.take(first) }, func() { p.take(second) }} {
		step()
		if err := p.apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			p.take(second)
		}
		p.provedAt = p.provedAt.AddDate(9000, 0, 0) // no port is there to be proved
		if got := p.observe(t.Context(), nil); got.Revision != first.Revision+int64(i) {
			t.Errorf("after the state %d was loaded, the revision %d is reported", first.Revision+int64(i), got.Revision)
		}
	}
}

// TestTimeoutsAreCounted: a count that ProxySQL did not answer stays, because one that begins again has grown by all of
// it.
func TestTimeoutsAreCounted(t *testing.T) {
	s := state()
	p := running(t, &scripted{rows: map[string][][]string{"stats_mysql_global": {{"max_connect_timeouts", "4"}},
		"COUNT(*) FROM stats_mysql_processlist": {{"3"}}}})
	p.wanted, p.provedAt = &s, time.Now().AddDate(9000, 0, 0)
	p.report = p.observe(t.Context(), nil)
	if p.report.TimedOut != 4 || p.report.Waiting != 3 {
		t.Errorf("%+v", p.report)
	}
	p.process = nil
	if got := p.observe(t.Context(), nil); got.TimedOut != 4 || got.Waiting != 0 {
		t.Errorf("without ProxySQL: %+v", got)
	}
}
