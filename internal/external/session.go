package external

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// prepared opens connections with a session of their own: statements that each new connection begins with.
type prepared struct {
	driver.Connector
	session []string
	// suits is asked first with the server's version: another server does not know the variables of the session. nil for
	// any version.
	suits func(version string) error
}

// unsuitedError is a server of a version that is not taken.
type unsuitedError struct {
	version string
	err     error
}

// Error implements error.
func (e unsuitedError) Error() string { return e.err.Error() }

// Connect implements driver.Connector.
func (p prepared) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	exec, ok := c.(driver.ExecerContext)
	if !ok {
		return nil, errors.New("the driver cannot execute statements")
	}
	if p.suits != nil {
		if err := p.judge(ctx, c); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	for _, s := range p.session {
		if _, err := exec.ExecContext(ctx, s, nil); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return c, nil
}

// judge asks a server for its version.
func (p prepared) judge(ctx context.Context, c driver.Conn) error {
	query, ok := c.(driver.QueryerContext)
	if !ok {
		return errors.New("the driver cannot query")
	}
	rows, err := query.QueryContext(ctx, "SELECT VERSION()", nil)
	if err != nil {
		return fmt.Errorf("asking for its version: %w", err)
	}
	defer func() { _ = rows.Close() }()
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil {
		return fmt.Errorf("asking for its version: %w", err)
	}
	if len(values) != 1 {
		return errImplausible
	}
	text, isBytes := values[0].([]byte)
	version := string(text)
	if !isBytes {
		version = fmt.Sprint(values[0])
	}
	if err := p.suits(version); err != nil {
		return unsuitedError{version, err}
	}
	return nil
}

// dial returns an error for answers that the driver does not expect: it panics where one is too short.
func (p prepared) dial(ctx context.Context) (c driver.Conn, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, err = nil, fmt.Errorf("%w: %v", errImplausible, r)
		}
	}()
	return p.Connector.Connect(ctx)
}
