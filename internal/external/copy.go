package external

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

const (
	// insertBytes and insertRows bound one INSERT, which is a transaction of its own.
	insertBytes = 1 << 20
	insertRows  = 5000
	// definitionTries is how often definitions and snapshot are read until they fit.
	definitionTries = 5
)

// ErrDiffers is a copy that is not what the source holds.
var ErrDiffers = errors.New("the copy differs from the source")

// ErrRefused is a definition of the source that the target refuses: another attempt would fail as well.
var ErrRefused = errors.New("the new server refuses a definition of the source")

// ErrTooLarge is a row of the source that no statement can carry: another attempt would fail as well.
var ErrTooLarge = errors.New("a row is too large to be copied")

// Options of a copy.
type Options struct {
	// Databases to copy; none for all but those of the system.
	Databases []string
	// Users has accounts and roles copied, with their grants, but those whose names Skip has.
	Users bool
	Skip  []string
	// Follow reports whether the source is to be followed after the copy.
	Follow bool
	// Present reports whether the target has the databases already.
	Present bool
	// Only is what is copied of the only database; nil for all of it.
	Only *Only
	// Connections is how many tables, or parts of them, are read at the same time.
	Connections int
	// Rate bounds what is read of the source, in bytes per second; 0 for no bound.
	Rate int64
	// Memory bounds how large rows may be.
	Memory
	// Resumed is the mark of an earlier copy that was cut off, and has left the target; "" for a target without tables.
	Resumed string
	// Created is called with the mark once the target has all tables: from then on the copy can be resumed, until Loaded
	// is called. Both may be nil.
	Created func(mark string) error
	Loaded  func() error
	// Progress is called now and then.
	Progress func(Progress)
}

// Report is what a copy has done.
type Report struct {
	// GTID of the source at the moment that was copied, "" when it has no binary log.
	GTID   string
	Tables int
	Rows   int64
	// Kept are those of Rows that an earlier copy had left.
	Kept    int64
	Bytes   int64
	Skipped []string
	// LockedMilliseconds is for how long the source's commits were blocked.
	LockedMilliseconds int64
	// Names are those of the tables in the source, and LeftOut the keys of them that were not copied, with Only.
	Names   []string
	LeftOut []string
}

type copier struct {
	Options
	source, target *sql.DB
	snapshot       *snapshot
	inventory      Inventory
	// earlier are the sequences before the snapshot: no snapshot has what they were then.
	earlier   []Sequence
	reader    reader
	leftOut   []string
	pace      pace
	parts     []part
	expected  int64 // rows, by the source's estimate
	rows      atomic.Int64
	keptRows  atomic.Int64
	bytes     atomic.Int64
	compared  atomic.Int64
	reporting sync.Mutex
	// each is how large rows may be that each connection reads at any time, and waiting how large those may be that wait
	// until there is memory for them; large counts the latter.
	budget        budget
	each, waiting int64
	large         *semaphore.Weighted
}

// Copy fills the target with what the source holds at one moment. It returns nil only when every table has been
// compared with the source at that moment.
func Copy(ctx context.Context, source, target *sql.DB, o Options) (Report, error) {
	o.Connections = max(1, o.Connections)
	c := &copier{Options: o, source: source, target: target, pace: newPace(o.Rate),
		reader: reader{only: o.Only}}
	if err := c.findBudget(ctx); err != nil {
		return Report{}, err
	}
	if err := c.begin(ctx); err != nil {
		return Report{}, err
	}
	defer c.snapshot.close()
	steps := []func(context.Context) error{c.createTables, c.created, c.copyTables, c.unchanged, c.countOn,
		c.compareTables, c.unchanged, c.loaded, c.createObjects, c.compareObjects}
	if err := c.run(ctx, steps...); err != nil {
		return Report{}, err
	}
	out := Report{GTID: c.snapshot.gtid, Tables: len(c.inventory.Tables), Rows: c.rows.Load(),
		Kept: c.keptRows.Load(), LockedMilliseconds: c.snapshot.locked.Milliseconds()}
	for _, t := range c.inventory.Tables {
		out.Bytes += t.Bytes
		if o.Only != nil {
			out.Names = append(out.Names, t.Name)
		}
	}
	out.LeftOut = c.leftOut
	if !o.Users {
		return out, nil
	}
	var err error
	out.Skipped, err = c.copyAccounts(ctx)
	return out, err
}

// run runs steps. A difference is final only if the source still has the tables of the snapshot.
func (c *copier) run(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		err := step(ctx)
		if errors.Is(err, ErrDiffers) {
			err = cmp.Or(c.unchanged(ctx), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin takes the snapshot between two equal readings of the definitions: these are the definitions at that moment.
func (c *copier) begin(ctx context.Context) error {
	conn, err := c.source.Conn(ctx)
	if err != nil {
		return ofSource("connecting", err)
	}
	defer func() { _ = conn.Close() }()
	databases, missing, err := databasesOf(ctx, conn, c.Databases)
	if err != nil {
		return ofSource("reading the databases", err)
	}
	if len(missing) > 0 {
		return SourceError{fmt.Errorf("it has no database %s", strings.Join(missing, ", "))}
	}
	for range definitionTries {
		before, err := c.reader.settled(ctx, conn, databases)
		if err != nil {
			return ofSource("reading the definitions", err)
		}
		if c.snapshot, err = takeSnapshot(ctx, c.source, c.Connections); err != nil {
			return err
		}
		if err = c.snapshot.of(ctx, conn); err == nil {
			c.inventory, err = c.reader.read(ctx, conn, databases)
		}
		if err != nil {
			c.snapshot.close()
			return ofSource("reading the definitions", err)
		}
		what := cmp.Or(changed(before, c.inventory), before.exchanged(c.inventory.times()))
		if what == "" {
			c.earlier = before.Sequences
			return c.rename()
		}
		c.snapshot.close()
		err = SourceError{fmt.Errorf("%w: %s", ErrChanged, what)}
		if ctx.Err() != nil {
			return err
		}
	}
	return SourceError{fmt.Errorf("%w each time that a copy was begun", ErrChanged)}
}

// rename gives the tables the names that they have in the target.
func (c *copier) rename() (err error) {
	if c.Only == nil {
		return nil
	}
	if c.leftOut, err = c.inventory.renamed(*c.Only); err != nil {
		c.snapshot.close()
		return SourceError{err}
	}
	return nil
}

func (c *copier) createTables(ctx context.Context) error {
	switch c.Resumed {
	case "":
	case c.inventory.mark():
		return nil // it has them, with some rows
	default:
		return ErrOtherTables
	}
	conn, err := c.target.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := quiet(ctx, conn, "SET SESSION character_set_collations = ''"); err != nil {
		return err
	}
	if err := c.checkCollations(ctx); err != nil {
		return err
	}
	for _, d := range c.inventory.Databases {
		if c.Present || c.Only != nil {
			break
		}
		if _, err := conn.ExecContext(ctx, d.Create); err != nil {
			return fmt.Errorf("%w: the database %s: %w", ErrRefused, d.Database, err)
		}
	}
	for _, t := range c.inventory.Tables {
		if err := create(ctx, conn, t.at().Database, t.Object); err != nil {
			return err
		}
	}
	return nil
}

// create runs the statement of an object in a database of the target.
func create(ctx context.Context, conn *sql.Conn, in string, o Object) error {
	if _, err := conn.ExecContext(ctx, "USE "+ident(in)); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, o.Create)
	if err != nil && refuses(err) {
		return fmt.Errorf("%w: %s: %w", ErrRefused, o, err)
	}
	return err
}

// refuses reports whether an error is about a statement, and not about the state that the server is in: it has left the
// Primary component, is being stopped, does not take writes, or has ended the statement for another one.
func refuses(err error) bool {
	switch code(err) {
	case 0, errDiskFull, errTableFull, 1047, 1053, errLockWait, 1213, 1290, 1317, 1927:
		return false
	}
	return true
}

// part is what one connection copies at a time.
type part struct {
	table Table
	Range
	// bytes is about what it takes.
	bytes int64
}

// where selects its rows, by the primary key.
func (p part) where() string {
	if len(p.table.Key) == 0 {
		return ""
	}
	return p.condition(p.table.Key[0])
}

// copyTables copies all parts, the largest tables first.
func (c *copier) copyTables(ctx context.Context) error {
	tables := slices.Clone(c.inventory.Tables)
	for _, t := range tables {
		c.expected += t.Rows
	}
	slices.SortStableFunc(tables, func(a, b Table) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var err error
	if c.parts, err = divide(ctx, c.snapshot.conns[0], tables); err != nil {
		return err
	}
	return c.eachPart(ctx, c.copyPart)
}

// eachPart has all connections of the snapshot work on the parts, each together with one of the target.
func (c *copier) eachPart(ctx context.Context, do func(ctx context.Context, from, to *sql.Conn, p part) error) error {
	parts := make(chan part)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(parts)
		for _, p := range c.parts {
			select {
			case parts <- p:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for _, from := range c.snapshot.conns {
		g.Go(func() error {
			to, err := c.target.Conn(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = to.Close() }()
			for p := range parts {
				if err := released(ctx, from, func() error { return do(ctx, from, to, p) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// divide makes parts of tables.
func divide(ctx context.Context, conn *sql.Conn, tables []Table) (out []part, err error) {
	for _, t := range tables {
		parts := []Range{{}}
		if t.divisible() && t.Rows >= 2*chunkRows {
			var low, high sql.NullInt64
			key := ident(t.Key[0])
			err := released(ctx, conn, func() error {
				return conn.QueryRowContext(ctx, "SELECT MIN("+key+"), MAX("+key+") FROM "+t.quoted()).Scan(&low, &high)
			})
			if err != nil {
				return nil, ofSource("reading "+t.String(), err)
			}
			parts = ranges(low.Int64, high.Int64, t.Rows)
		}
		for _, r := range parts {
			out = append(out, part{t, r, t.Bytes / int64(len(parts))})
		}
	}
	return out, nil
}

func (c *copier) report() {
	if c.Progress == nil {
		return
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.Progress(Progress{Tables: len(c.inventory.Tables), Rows: c.rows.Load(), ExpectedRows: c.expected,
		Bytes: c.bytes.Load(), Compared: int(c.compared.Load())})
}
