package proxy

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// TestTheEndOfAProxySQLIsExplained: the kernel kills one whose memory is full.
func TestTheEndOfAProxySQLIsExplained(t *testing.T) {
	for want, exit := range map[string]mariadbd.Exit{
		"memory":           {Code: -1, Signal: syscall.SIGKILL},
		"(signal aborted)": {Code: -1, Signal: syscall.SIGABRT},
		"(code 1)":         {Code: 1},
	} {
		if got := ending(exit); !strings.Contains(got, want) || strings.Contains(got, "memory") != (want == "memory") {
			t.Errorf("%+v: %s", exit, got)
		}
	}
}

// lacking is an admin interface without a table, as an older ProxySQL is.
type lacking struct {
	*scripted
	table string
}

func (l lacking) Connect(context.Context) (driver.Conn, error) { return l, nil }

func (l lacking) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Result, error) {
	if strings.Contains(q, l.table) {
		return nil, errors.New("no such table: main." + l.table)
	}
	return l.scripted.ExecContext(ctx, q, args)
}

// TestAnImageThatLacksSomething: a ProxySQL that cannot take a part of the state takes no clients, and the report names
// the part and the statement, without the hashes.
func TestAnImageThatLacksSomething(t *testing.T) {
	for table, part := range map[string]string{"mysql_hostgroup_attributes": "loading servers",
		"mysql_users": "loading users", "mysql_query_rules": "loading rules"} {
		s := &scripted{rows: map[string][][]string{"stats_mysql_processlist": {{"0"}}}}
		db := sql.OpenDB(lacking{s, table})
		p := running(t, s)
		p.Logger, p.admin, p.started = slog.New(slog.DiscardHandler), admin{db}, false
		p.take(state())
		p.turn(t.Context(), nil)
		if got := p.report; got.Revision != 0 || !strings.Contains(got.Problem, part) ||
			!strings.Contains(got.Problem, table) || strings.Contains(got.Problem, "*AAAA") {
			t.Errorf("without %s: %+v", table, got)
		}
		if slices.Contains(s.executed, "PROXYSQL START") {
			t.Errorf("without %s it takes clients", table)
		}
		_ = db.Close()
	}
}
