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
	c, err := p.Connector.Connect(ctx)
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
