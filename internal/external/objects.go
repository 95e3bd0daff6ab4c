package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// createObjects creates what holds no rows. It comes last, so that no trigger acts on the copied rows.
func (c *copier) createObjects(ctx context.Context) error {
	conn, err := c.target.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for _, objects := range [][]Object{c.inventory.Routines, c.inventory.Triggers, c.inventory.Events} {
		for _, o := range objects {
			if err := createIn(ctx, conn, o); err != nil {
				return err
			}
		}
	}
	return createViews(ctx, conn, c.inventory.Views)
}

// createIn runs the statement of an object with the settings that belong to its definition.
func createIn(ctx context.Context, conn *sql.Conn, o Object) error {
	session := "SET SESSION sql_mode = " + text(o.SQLMode)
	if o.Collation != "" {
		session += ", collation_connection = " + text(o.Collation)
	}
	if o.TimeZone != "" {
		session += ", time_zone = " + text(o.TimeZone)
	}
	if _, err := conn.ExecContext(ctx, session); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, o, err)
	}
	return create(ctx, conn, o.Database, o)
}

// createViews creates views in any order in which each finds what it selects from.
func createViews(ctx context.Context, conn *sql.Conn, left []Object) error {
	for len(left) > 0 {
		var refused []Object
		var why error
		for _, v := range left {
			err := createIn(ctx, conn, v)
			if errors.Is(err, ErrRefused) {
				refused, why = append(refused, v), err
				continue
			}
			if err != nil {
				return err
			}
		}
		if len(refused) == len(left) {
			return why
		}
		left = refused
	}
	return nil
}
