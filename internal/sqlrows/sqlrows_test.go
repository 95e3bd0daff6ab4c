package sqlrows

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// answer is a server that gives every query the same rows, and ends after them with an error.
type answer struct {
	names []string
	rows  [][]driver.Value
	end   error
}

func (a *answer) Connect(context.Context) (driver.Conn, error) { return a, nil }
func (a *answer) Driver() driver.Driver                        { return nil }
func (a *answer) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (a *answer) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }
func (a *answer) Close() error                                 { return nil }
func (a *answer) Columns() []string                            { return a.names }

func (a *answer) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return a, nil
}

func (a *answer) Next(into []driver.Value) error {
	if len(a.rows) == 0 {
		return a.end
	}
	copy(into, a.rows[0])
	a.rows = a.rows[1:]
	return nil
}

func TestRows(t *testing.T) {
	rows := func() Querier {
		return sql.OpenDB(&answer{names: []string{"Name", "Value"}, end: io.EOF,
			rows: [][]driver.Value{{"a", int64(1)}, {"b", nil}}})
	}
	texts, err := Texts(t.Context(), rows(), "")
	if want := [][]string{{"a", "1"}, {"b", ""}}; err != nil || !reflect.DeepEqual(texts, want) {
		t.Errorf("texts: %v %v, want %v", texts, err, want)
	}
	named, err := Named(t.Context(), rows(), "")
	if want := []map[string]string{{"Name": "a", "Value": "1"}, {"Name": "b"}}; err != nil ||
		!reflect.DeepEqual(named, want) {
		t.Errorf("named: %v %v, want %v", named, err, want)
	}
	// A row that cannot be scanned, and an answer that breaks off, give no rows.
	if texts, err := Collect(t.Context(), rows(), func(r *sql.Rows) (s string, err error) {
		err = r.Scan(&s, &s)
		return s, err
	}, ""); err == nil || texts != nil {
		t.Errorf("NULL as a string: %v %v", texts, err)
	}
	lost := errors.New("connection lost")
	cut := sql.OpenDB(&answer{names: []string{"Name"}, rows: [][]driver.Value{{"a"}}, end: lost})
	if texts, err := Texts(t.Context(), cut, ""); !errors.Is(err, lost) || texts != nil {
		t.Errorf("cut off: %v %v", texts, err)
	}
}

func TestErrorNumber(t *testing.T) {
	if n := ErrorNumber(fmt.Errorf("CREATE: %w", &mysql.MySQLError{Number: 1007})); n != 1007 {
		t.Errorf("a server's error: %d", n)
	}
	if n := ErrorNumber(io.EOF); n != 0 {
		t.Errorf("a lost connection: %d", n)
	}
}
