package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Compared is what a comparison of servers with their source has found.
type Compared struct {
	// GTID is the position at which they were compared.
	GTID         string
	Tables, Rows int64
	// Sequences is how many were compared: what they go on with, as of a moment close to that position.
	Sequences int
	// Differences name the server, the table, and how it differs; none if all are the same.
	Differences []string
}

// Compare compares all tables of servers that follow a source with the source, at one position. hold is called with it,
// and returns when each of them is at exactly that position, and stays there. The source goes on serving: its commits
// wait for as long as those of a copy do.
func Compare(ctx context.Context, source *sql.DB, targets map[string]*sql.DB, connections int,
	hold func(ctx context.Context, gtid string) error) (out Compared, err error) {
	c := &copier{Options: Options{Connections: max(1, connections)}, source: source}
	if err := c.begin(ctx); err != nil {
		return out, err
	}
	defer c.snapshot.close()
	if out.GTID = c.snapshot.gtid; out.GTID == "" {
		return out, SourceError{errors.New("it has no binary log any more")}
	}
	if err := hold(ctx, out.GTID); err != nil {
		return out, err
	}
	if err := standing(ctx, targets, out.GTID); err != nil {
		return out, err
	}
	tables := c.inventory.Tables
	out.Sequences = len(c.inventory.Sequences)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		have, err := inventoryOf(ctx, targets[name])
		if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		differs := append(c.inventory.differs(have), sequencesDiffer(c.earlier, c.inventory.Sequences, have.Sequences)...)
		for _, d := range differs {
			out.Differences = append(out.Differences, name+": "+d)
		}
		tables = have.alike(tables) // a digest of a table with other columns would be an error
	}
	if err = c.digests(ctx, tables, targets, &out); err == nil {
		err = c.unchanged(ctx)
	}
	slices.Sort(out.Differences)
	return out, errors.Join(err, standing(ctx, targets, out.GTID))
}

// standing returns an error unless all servers are at exactly a position of their source.
func standing(ctx context.Context, targets map[string]*sql.DB, gtid string) error {
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		var at string
		if err := targets[name].QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_slave_pos").Scan(&at); err != nil {
			return fmt.Errorf("reading the position of %s: %w", name, err)
		}
		if !samePosition(at, gtid) {
			return fmt.Errorf("%s is at %s, and the others are compared at %s", name, at, gtid)
		}
	}
	return nil
}

// samePosition reports whether a server's position is a source's, in whatever order their domains are.
func samePosition(at, of string) bool {
	sorted := func(position string) []string {
		gtids := strings.Split(strings.ReplaceAll(position, " ", ""), ",")
		slices.Sort(gtids)
		return gtids
	}
	return slices.Equal(sorted(at), sorted(of))
}

// inventoryOf reads what a node of a cluster has.
func inventoryOf(ctx context.Context, server *sql.DB) (inv Inventory, err error) {
	conn, err := server.Conn(ctx)
	if err != nil {
		return inv, err
	}
	defer func() { _ = conn.Close() }()
	if err := synced(ctx, conn); err != nil {
		return inv, err
	}
	databases, _, err := databasesOf(ctx, conn, nil)
	if err != nil {
		return inv, err
	}
	return readInventory(ctx, conn, databases)
}

// alike returns those of some tables that an inventory has with the same columns.
func (inv Inventory) alike(tables []Table) (out []Table) {
	have := inv.columns()
	for _, t := range tables {
		if columns, found := have[t.quoted()]; found && slices.Equal(t.Columns, columns) {
			out = append(out, t)
		}
	}
	return out
}

// differs returns what another inventory lacks, or has more. It is pure.
func (inv Inventory) differs(have Inventory) (out []string) {
	out = inv.missing(have)
	known := make(map[string]bool, len(inv.Tables))
	for _, t := range inv.Tables {
		known[t.quoted()] = true
	}
	for _, t := range have.Tables {
		if !known[t.quoted()] {
			out = append(out, fmt.Sprintf("the table %s is not on the source", t))
		}
		if t.Engine != "InnoDB" {
			out = append(out, fmt.Sprintf("the table %s has the engine %s, which Galera does not replicate", t, t.Engine))
		}
	}
	return out
}

// synced has a node of a cluster apply all that was committed before it answers.
func synced(ctx context.Context, conn *sql.Conn) error {
	return quiet(ctx, conn, "SET SESSION wsrep_sync_wait = 15")
}

// digests compares the digest of some tables of the snapshot with that of all targets.
func (c *copier) digests(ctx context.Context, of []Table, targets map[string]*sql.DB, out *Compared) error {
	tables, found := make(chan Table), make(chan func())
	g, ctx := errgroup.WithContext(ctx)
	for _, conn := range c.snapshot.conns {
		g.Go(func() error {
			for t := range tables {
				rows, differs, err := digestsOf(ctx, conn, targets, t)
				if err != nil {
					return err
				}
				found <- func() {
					out.Tables++
					out.Rows += rows
					out.Differences = append(out.Differences, differs...)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(tables)
		for _, t := range of {
			select {
			case tables <- t:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	ended := make(chan error, 1)
	go func() {
		ended <- g.Wait()
		close(found)
	}()
	for add := range found {
		add()
	}
	return <-ended
}

// digestsOf compares one table.
func digestsOf(ctx context.Context, from *sql.Conn, targets map[string]*sql.DB, t Table) (
	rows int64, differs []string, err error) {
	query := digestSQL(t.compared(), t.quoted(), "")
	var there Digest
	here := make(map[string]*Digest, len(targets))
	g, both := errgroup.WithContext(ctx)
	g.Go(func() error {
		return released(both, from, func() (err error) {
			if there, err = digest(both, from, query); err != nil {
				return ofSource("comparing "+t.String(), err)
			}
			return nil
		})
	})
	for name, db := range targets {
		d := &Digest{}
		here[name] = d
		g.Go(func() error {
			to, err := db.Conn(both)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			defer func() { _ = to.Close() }()
			if err := synced(both, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if *d, err = digest(both, to, query); err != nil {
				return fmt.Errorf("comparing %s on %s: %w", t, name, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return 0, nil, err
	}
	for name, d := range here {
		switch {
		case d.Rows != there.Rows:
			differs = append(differs, fmt.Sprintf("%s: %s has %s rows, and the source %s", name, t, d.Rows, there.Rows))
		case *d != there:
			differs = append(differs, fmt.Sprintf("%s: the checksum of %s, with %s rows%s, is not the source's", name, t, d.Rows,
				withComputed(t)))
		}
	}
	_, err = fmt.Sscan(there.Rows, &rows)
	return rows, differs, err
}
