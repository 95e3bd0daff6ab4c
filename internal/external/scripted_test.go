package external

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// scripted is a server that answers by what a statement has in it, and nothing to all others.
type scripted struct {
	answers map[string]scriptedAnswer
	done    []string
}

type scriptedAnswer struct {
	names []string
	rows  [][]driver.Value
	err   error
}

func (s *scripted) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *scripted) Driver() driver.Driver                        { return nil }
func (s *scripted) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (s *scripted) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (s *scripted) Close() error                                 { return nil }

func (s *scripted) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	for part, a := range s.answers {
		if strings.Contains(query, part) {
			return &a, a.err
		}
	}
	return &scriptedAnswer{names: []string{"x"}}, nil
}

func (s *scripted) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	s.done = append(s.done, query)
	return driver.ResultNoRows, nil
}

func (a *scriptedAnswer) Columns() []string { return a.names }
func (a *scriptedAnswer) Close() error      { return nil }

func (a *scriptedAnswer) Next(into []driver.Value) error {
	if len(a.rows) == 0 {
		return io.EOF
	}
	copy(into, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

// TestTableIsNamed: what a server answers about one of many tables names it. One of an engine that Galera does not
// replicate is judged by that, and its definition not asked for: the server may not have the engine.
func TestTableIsNamed(t *testing.T) {
	for engine, named := range map[string]bool{"": true, "InnoDB": true, "ROCKSDB": false} {
		db := sql.OpenDB(&scripted{answers: map[string]scriptedAnswer{
			"SHOW CREATE DATABASE": {names: []string{"Database", "Create Database"},
				rows: [][]driver.Value{{"shop", "CREATE DATABASE `shop`"}}},
			"information_schema.tables": {names: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
				rows: [][]driver.Value{{"shop", "t", "BASE TABLE", engine, "0", "0", "", "0"}}},
			"SHOW CREATE TABLE": {err: &mysql.MySQLError{Number: 1286, Message: "Unknown storage engine 'ROCKSDB'"}},
		}})
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		inv, err := readInventory(t.Context(), c, []string{"shop"})
		if named && (code(err) != 1286 || !strings.HasPrefix(err.Error(), "the table shop.t: Error 1286")) {
			t.Errorf("%q: %v", engine, err)
		}
		if found := checkTables(inv); !named && (err != nil || len(found) != 1 || found[0].Name != EngineNotReplicated ||
			found[0].Objects[0] != "shop.t (ROCKSDB)") {
			t.Errorf("%q: %+v, %v", engine, found, err)
		}
	}
}

// TestDropOwnedWithoutDefiners: that objects cannot be listed, for instance a routine that does not load, is
// reported, and ends nothing.
func TestDropOwnedWithoutDefiners(t *testing.T) {
	s := &scripted{answers: map[string]scriptedAnswer{
		"mysql.user": {names: []string{"user", "host", "plugin", "is_role"},
			rows: [][]driver.Value{{"galera", "%", "", "N"}, {"app", "%", "", "N"}}},
		"CURRENT_USER()":           {names: []string{"u"}, rows: [][]driver.Value{{"me@localhost"}}},
		"information_schema.views": {err: &mysql.MySQLError{Number: 1457, Message: "Failed to load routine"}},
	}}
	dropped, err := DropOwned(t.Context(), sql.OpenDB(s), nil)
	if err != nil || len(dropped) != 2 || dropped[0] != "'galera'@'%'" ||
		!strings.Contains(dropped[1], "DEFINER, which could not be listed: Error 1457") {
		t.Errorf("%q: %v", dropped, err)
	}
	if want := []string{"DROP USER 'galera'@'%'"}; !slices.Equal(s.done, want) {
		t.Errorf("%q", s.done)
	}
}
