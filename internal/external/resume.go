package external

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
)

// ErrOtherTables is a target that an earlier copy has left, with tables of other definitions than the source's now: it
// is to be emptied.
var ErrOtherTables = errors.New("the source's tables are others than when the copy was begun")

// mark stands for the definitions of the databases and tables of an inventory.
func (inv Inventory) mark() string {
	tables := Inventory{Databases: inv.Databases, Tables: inv.Tables}
	sum := sha256.Sum256([]byte(strings.Join(tables.definitions(), "\x00")))
	return hex.EncodeToString(sum[:])
}

// created reports that the copy can be resumed from now on: the definitions are on the target's disk.
func (c *copier) created(ctx context.Context) error {
	if c.Created == nil {
		return nil
	}
	if _, err := c.target.ExecContext(ctx, "FLUSH ENGINE LOGS"); err != nil {
		return fmt.Errorf("writing the definitions to the disk: %w", err)
	}
	return c.Created(c.inventory.mark())
}

// loaded reports that it cannot any more: what comes now would be in the way of rows that are copied, as triggers are.
func (o Options) loaded(context.Context) error {
	if o.Loaded == nil {
		return nil
	}
	return o.Loaded()
}

// counted is how far AUTO_INCREMENT has counted in a table, in its definition.
var counted = regexp.MustCompile(`(?m)^\) ENGINE=\w+ AUTO_INCREMENT=(\d+)`)

// countOn has the tables of an earlier copy count on where the source's do: their definitions are of before.
func (c *copier) countOn(ctx context.Context) error {
	for _, t := range c.inventory.Tables {
		at := counted.FindStringSubmatch(t.Create)
		if c.Resumed == "" || at == nil {
			continue
		}
		if _, err := c.target.ExecContext(ctx, "ALTER TABLE "+t.inTarget()+" AUTO_INCREMENT = "+at[1]); err != nil {
			return fmt.Errorf("counting on in %s: %w", t, err)
		}
	}
	return nil
}

// kept reports whether a part has in the target what it has in the source's snapshot, by the digest that the finished
// copy is compared with. Otherwise it has no rows in the target afterwards.
func (c *copier) kept(ctx context.Context, from, to *sql.Conn, p part) (bool, error) {
	where := p.where()
	var one int
	err := to.QueryRowContext(ctx, "SELECT 1 FROM "+p.table.inTarget()+where+" LIMIT 1").Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", p.table, err)
	}
	here, there, err := c.digestsOf(ctx, from, to, p, p.table.compared())
	if err != nil {
		return false, err
	}
	if here == there {
		var rows int64
		if _, err := fmt.Sscan(here.Rows, &rows); err != nil {
			return false, err
		}
		c.rows.Add(rows)
		c.keptRows.Add(rows)
		c.report()
		return true, nil
	}
	if err := empty(ctx, to, p.table.inTarget(), where); err != nil {
		return false, fmt.Errorf("emptying %s: %w", p.table, err)
	}
	return false, nil
}

// empty removes the rows of a part. One may have most rows of a table, whose keys are not spread evenly: the locks of
// one statement have to fit into a part of the buffer pool.
func empty(ctx context.Context, c *sql.Conn, table, where string) error {
	if where == "" {
		_, err := c.ExecContext(ctx, "TRUNCATE TABLE "+table)
		return err
	}
	for {
		done, err := c.ExecContext(ctx, fmt.Sprintf("DELETE FROM %s%s LIMIT %d", table, where, chunkRows))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); n < chunkRows || err != nil {
			return err
		}
	}
}

// digestsOf are those of some columns of a part on both servers.
func (c *copier) digestsOf(ctx context.Context, from, to *sql.Conn, p part, columns []Column) (here, there Digest,
	err error) {
	if err := c.pace.wait(ctx, p.bytes); err != nil {
		return here, there, err
	}
	where := p.where()
	g, both := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		if there, err = digest(both, from, digestSQL(columns, p.table.quoted(), where)); err != nil {
			return ofSource("comparing "+p.table.String(), err)
		}
		return nil
	})
	g.Go(func() (err error) {
		if here, err = digest(both, to, digestSQL(columns, p.table.inTarget(), where)); err != nil {
			return fmt.Errorf("comparing %s: %w", p.table, err)
		}
		return nil
	})
	return here, there, g.Wait()
}
