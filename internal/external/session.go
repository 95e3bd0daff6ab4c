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
}

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
	for _, s := range p.session {
		if _, err := exec.ExecContext(ctx, s, nil); err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("%s: %w", s, err)
		}
	}
	return c, nil
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
