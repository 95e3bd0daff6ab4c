package external

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
)

// compareTables computes the digests of every table on both servers, in the snapshot on the source: what is compared is
// what the servers have stored, not what this program has read. The parts of a table have each key there is.
func (c *copier) compareTables(ctx context.Context) error {
	c.compared.Store(0)
	left := map[string]*atomic.Int64{}
	for _, p := range c.parts {
		of := p.table.quoted()
		if left[of] == nil {
			left[of] = &atomic.Int64{}
		}
		left[of].Add(1)
	}
	return c.eachPart(ctx, func(ctx context.Context, from, to *sql.Conn, p part) error {
		if err := c.comparePart(ctx, from, to, p); err != nil {
			return err
		}
		if left[p.table.quoted()].Add(-1) == 0 {
			c.compared.Add(1)
			c.report()
		}
		return nil
	})
}

func (c *copier) comparePart(ctx context.Context, from, to *sql.Conn, p part) error {
	here, there, err := c.digestsOf(ctx, from, to, p, p.table.compared())
	switch {
	case err != nil:
		return err
	case here.Rows != there.Rows:
		return fmt.Errorf("%w: %s%s has %s rows there, and %s here", ErrDiffers, p.table, p.where(), there.Rows, here.Rows)
	case here != there:
		return c.differs(ctx, from, to, p, here.Rows)
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
	var names []string
	for _, d := range c.inventory.Databases {
		names = append(names, d.Database)
	}
	if c.Only != nil {
		names = []string{c.Only.As(0).Database}
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
		if columns, found := tables[t.inTarget()]; !found || !slices.Equal(t.Columns, columns) {
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
