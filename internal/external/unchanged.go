package external

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// settleTries is how often it is waited, for snapshotPause each, until a source's tables were not altered just now.
const settleTries = 30

// altering is how many ALTER TABLE statements a server has begun since its start. No snapshot is taken while one is
// carried out, or waits for its tables: BACKUP STAGE waits for it.
const altering = "SELECT variable_value FROM information_schema.GLOBAL_STATUS WHERE variable_name = 'COM_ALTER_TABLE'"

// reader reads the definitions of what is copied, and notices tables that are no longer the ones it has read.
type reader struct {
	only *Only
	// altered is the value of altering when the definitions were read.
	altered string
}

// settled reads the definitions once no table was created, renamed or altered within the seconds before: whatever
// happens to one from then on gives it another time.
func (r *reader) settled(ctx context.Context, conn *sql.Conn, databases []string) (Inventory, error) {
	for try := 1; ; try++ {
		if err := conn.QueryRowContext(ctx, altering).Scan(&r.altered); err != nil {
			return Inventory{}, err
		}
		inv, err := r.read(ctx, conn, databases)
		name := inv.unsettled()
		switch {
		case err != nil || name == "":
			return inv, err
		case try == settleTries:
			return inv, fmt.Errorf("%w again and again: %s", ErrChanged, name)
		}
		select {
		case <-ctx.Done():
			return inv, ctx.Err()
		case <-time.After(snapshotPause):
		}
	}
}

// read reads the definitions of what is copied.
func (r *reader) read(ctx context.Context, conn *sql.Conn, databases []string) (Inventory, error) {
	inv, err := readInventory(ctx, conn, databases)
	if err == nil && r.only != nil {
		inv = inv.only(*r.only)
	}
	return inv, err
}

// unsettled names a table that was created, renamed or altered just now, "" if none was.
func (inv Inventory) unsettled() string {
	for _, t := range inv.Tables {
		if t.justNow {
			return t.String()
		}
	}
	return ""
}

// times are when the files with the definitions of some tables were changed last.
func (inv Inventory) times() map[string]string {
	out := make(map[string]string, len(inv.Tables))
	for _, t := range inv.Tables {
		out[t.quoted()] = t.changed
	}
	return out
}

// exchanged names a table that another inventory has not, or has with another time, "" if it has them all. It is pure.
func (inv Inventory) exchanged(now map[string]string) string {
	for _, t := range inv.Tables {
		if at, found := now[t.quoted()]; !found || at != t.changed {
			return t.String()
		}
	}
	return ""
}

// unchanged returns ErrChanged if a table of the source may be another one by now than in the snapshot: what was read
// by its name may be of that one. InnoDB notices that a table was rebuilt since a snapshot, not that it was renamed.
func (c *copier) unchanged(ctx context.Context) error {
	conn, err := c.source.Conn(ctx)
	if err != nil {
		return ofSource("connecting", err)
	}
	defer func() { _ = conn.Close() }()
	if err := c.snapshot.of(ctx, conn); err != nil {
		return ofSource("reading the definitions", err)
	}
	what, err := c.reader.changed(ctx, conn, c.inventory)
	switch {
	case err != nil:
		return ofSource("reading the definitions", err)
	case what != "":
		return SourceError{fmt.Errorf("%w: %s", ErrChanged, what)}
	}
	return nil
}

// changed names what is no longer as it was read before the snapshot that an inventory is of, "" if all is.
func (r *reader) changed(ctx context.Context, conn *sql.Conn, of Inventory) (string, error) {
	var databases []string
	for _, d := range of.Databases {
		databases = append(databases, d.Database)
	}
	if len(databases) == 0 {
		return "", nil
	}
	now := map[string]string{}
	err := each(ctx, conn, "SELECT table_schema, table_name, "+changedAt+" FROM information_schema.tables WHERE "+
		"table_schema IN ("+list(databases)+")", func(v []string) {
		now[Table{Object: Object{Database: v[0], Name: v[1]}}.quoted()] = v[2]
	})
	if err != nil {
		return "", err
	}
	if name := of.exchanged(now); name != "" {
		return name, nil
	}
	var altered string
	if err := conn.QueryRowContext(ctx, altering).Scan(&altered); err != nil || altered == r.altered {
		return "", err
	}
	var partitioned string
	err = each(ctx, conn, "SELECT table_schema, table_name FROM information_schema.tables WHERE create_options LIKE "+
		"'%partitioned%' LIMIT 1", func(v []string) { partitioned = v[0] + "." + v[1] })
	if err != nil || partitioned == "" {
		return "", err
	}
	return "ALTER TABLE was run, and may have exchanged a partition with one of " + partitioned, nil
}
