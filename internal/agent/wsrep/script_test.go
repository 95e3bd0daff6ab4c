package wsrep

import (
	"context"
	"database/sql/driver"
	"io"
)

// script is a server that records its statements.
type script struct {
	statements []string
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *script) Driver() driver.Driver                        { return nil }
func (s *script) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (s *script) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (s *script) Close() error                                 { return nil }

func (s *script) ExecContext(_ context.Context, statement string, _ []driver.NamedValue) (driver.Result, error) {
	s.statements = append(s.statements, statement)
	return driver.RowsAffected(0), nil
}

func (s *script) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &answers{}, nil
}

type answers struct{ left []string }

func (a *answers) Columns() []string { return []string{"v"} }
func (a *answers) Close() error      { return nil }
func (a *answers) Next(into []driver.Value) error {
	if len(a.left) == 0 {
		return io.EOF
	}
	into[0], a.left = a.left[0], a.left[1:]
	return nil
}
