package external

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// compareTables computes the digest of every table on both servers, in the snapshot on the source: what is compared is
// what the servers have stored, not what this program has read.
func (c *copier) compareTables(ctx context.Context) error {
	tables := make(chan Table)
	g, ctx := errgroup.WithContext(ctx)
	for _, conn := range c.snapshot.conns {
		g.Go(func() error {
			to, err := c.target.Conn(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = to.Close() }()
			for t := range tables {
				if err := compareTable(ctx, conn, to, t); err != nil {
					return err
				}
				c.compared.Add(1)
				c.report()
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(tables)
		for _, t := range c.inventory.Tables {
			select {
			case tables <- t:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

func compareTable(ctx context.Context, from, to *sql.Conn, t Table) error {
	query := digestSQL(t)
	var here, there Digest
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		return released(both, from, func() (err error) {
			if there, err = digest(both, from, query); err != nil {
				return ofSource("comparing "+t.String(), err)
			}
			return nil
		})
	})
	g.Go(func() (err error) {
		if here, err = digest(both, to, query); err != nil {
			return fmt.Errorf("comparing %s: %w", t, err)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	switch {
	case here.Rows != there.Rows:
		return fmt.Errorf("%w: %s has %s rows there, and %s here", ErrDiffers, t, there.Rows, here.Rows)
	case here != there:
		return fmt.Errorf("%w: the checksum of %s, with %s rows", ErrDiffers, t, here.Rows)
	}
	return nil
}

func digest(ctx context.Context, c *sql.Conn, query string) (d Digest, err error) {
	err = c.QueryRowContext(ctx, query).Scan(&d.Rows, &d.Sum, &d.Xor)
	return d, err
}

// compareObjects makes sure that the target has all that the source has, and tables with the same columns.
func (c *copier) compareObjects(ctx context.Context) error {
	conn, err := c.target.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	names := make([]string, len(c.inventory.Databases))
	for i, d := range c.inventory.Databases {
		names[i] = d.Database
	}
	have, err := readInventory(ctx, conn, names)
	if err != nil {
		return err
	}
	if lacks := c.inventory.missing(have); len(lacks) > 0 {
		return fmt.Errorf("%w: %s", ErrDiffers, lacks[0])
	}
	return nil
}

// missing returns what another inventory lacks: tables with the same columns, views, routines and triggers.
func (inv Inventory) missing(have Inventory) (out []string) {
	tables := have.columns()
	for _, t := range inv.Tables {
		if columns, found := tables[t.quoted()]; !found || !slices.Equal(t.Columns, columns) {
			out = append(out, fmt.Sprintf("the table %s is missing, or has other columns", t))
		}
	}
	for _, kind := range []struct {
		name     string
		is, have []Object
	}{{"view", inv.Views, have.Views}, {"routine", inv.Routines, have.Routines},
		{"trigger", inv.Triggers, have.Triggers}} {
		found := make(map[string]bool, len(kind.have))
		for _, o := range kind.have {
			found[o.String()] = true
		}
		for _, o := range kind.is {
			if !found[o.String()] {
				out = append(out, fmt.Sprintf("the %s %s is missing", kind.name, o))
			}
		}
	}
	return out
}

// columns are those of each table, by its quoted name.
func (inv Inventory) columns() map[string][]Column {
	out := make(map[string][]Column, len(inv.Tables))
	for _, t := range inv.Tables {
		out[t.quoted()] = t.Columns
	}
	return out
}
