// Package tables loads tables of one server, the source, into a living cluster, under other names. What is loaded lies
// in a database of its own until it was compared with the source; one RENAME TABLE then gives all tables their names.
// So a load may be cut off anywhere: nothing has a final name that is not complete, and what is there is never
// overwritten.
//
// Each round of a load has table names of its own. A load that was given up, and goes on all the same, writes to tables
// that no other round reads.
package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/external"
)

// Errors that another attempt would meet as well.
var (
	// ErrNotFound is a table, or a database, that the source does not have.
	ErrNotFound = errors.New("there is no such table")
	// ErrRefused is a table that cannot be loaded.
	ErrRefused = errors.New("the table cannot be loaded")
	// ErrExists is a name that the target has already.
	ErrExists = errors.New("the name is taken")
	// ErrNoDatabase is a database that the target lacks.
	ErrNoDatabase = errors.New("there is no such database")
)

// errGivenUp is met by a load that a later one has replaced.
var errGivenUp = errors.New("a later attempt has replaced this one")

// Selection is what is loaded.
type Selection struct {
	// Database and Table name it in the source; without a Table it is all tables of the database.
	Database string `json:"database"`
	Table    string `json:"table,omitempty"`
	// Into is the database of the target, As the name of the table there.
	Into string `json:"into"`
	As   string `json:"as,omitempty"`
}

func (s Selection) String() string {
	if s.Table == "" {
		return s.Database
	}
	return s.Database + "." + s.Table
}

// Loaded is what was loaded.
type Loaded struct {
	Tables int   `json:"tables"`
	Rows   int64 `json:"rows"`
	// LeftOut names what belongs to the tables and is not loaded.
	LeftOut []string `json:"leftOut,omitempty"`
	// GTID is the last transaction that the source has applied, Late how many later ones name a time before the target.
	GTID string `json:"gtid,omitempty"`
	Late int    `json:"late,omitempty"`
}

// Taken are tables of the source, which it has under the names of a round.
type Taken struct {
	// Names are the final ones: the table of index i is called table(round, i).
	Names   []string
	LeftOut []string
	Bytes   int64
	round   string
	// from is their database.
	from string
}

// named is an error whose text has the tables by the names that the source had them under.
type named struct {
	error
	text string
}

func (n named) Error() string { return n.text }
func (n named) Unwrap() error { return n.error }

// named gives the tables of a round, which lie in a database, their own names in an error.
func (t Taken) named(in string, err error) error {
	text := err.Error()
	for i := len(t.Names) - 1; i >= 0; i-- { // r_12 before r_1
		text = strings.ReplaceAll(text, in+"."+table(t.round, i), t.from+"."+t.Names[i])
	}
	return named{err, text}
}

// table is the name of a table while it is loaded.
func table(round string, i int) string { return fmt.Sprintf("%s_%d", round, i) }

// Round is how a round of a load calls its tables. No two processes have the same load, not even of one attempt: a Job
// that is deleted is made again under its name.
func Round(load string, number int) string { return fmt.Sprintf("r%s_%d", load, number) }

// Take puts the tables into a database of the source, which is a copy that nothing else uses, under the names of a
// round, and without what the target could not have: triggers, and foreign keys to tables that are not loaded.
func Take(ctx context.Context, source *sql.DB, s Selection, into, round string) (t Taken, err error) {
	if t.Names, t.LeftOut, err = choose(ctx, source, s); err != nil {
		return t, err
	}
	c, err := source.Conn(ctx)
	if err != nil {
		return t, err
	}
	defer func() { _ = c.Close() }()
	if t.LeftOut, err = release(ctx, c, s, t.LeftOut); err != nil {
		return t, err
	}
	statements := []string{"SET SESSION foreign_key_checks = 1", "CREATE DATABASE " + ident(into)}
	for i, name := range t.Names {
		statements = append(statements, "RENAME TABLE "+in(s.Database, name)+" TO "+in(into, table(round, i)))
	}
	if err := run(ctx, c, statements...); err != nil {
		return t, err
	}
	t.round, t.from = round, s.Database
	err = c.QueryRowContext(ctx, "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables "+
		"WHERE table_schema = ?", into).Scan(&t.Bytes)
	return t, err
}

// Again gives the tables of the source the names of another round.
func (t *Taken) Again(ctx context.Context, source *sql.DB, in string, round string) error {
	c, err := source.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	statements := []string{"SET SESSION foreign_key_checks = 1"}
	for i := range t.Names {
		statements = append(statements, "RENAME TABLE "+ident(in)+"."+ident(table(t.round, i))+" TO "+ident(in)+"."+
			ident(table(round, i)))
	}
	if err := run(ctx, c, statements...); err != nil {
		return err
	}
	t.round = round
	return nil
}

// choose lists the tables to load, and what else is in the database.
func choose(ctx context.Context, source *sql.DB, s Selection) (names, leftOut []string, err error) {
	var databases int
	err = source.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?",
		s.Database).Scan(&databases)
	if err != nil {
		return nil, nil, err
	}
	if databases == 0 {
		return nil, nil, fmt.Errorf("%w: the database %s", ErrNotFound, s.Database)
	}
	query, args := "SELECT table_name, table_type, COALESCE(engine, '') FROM information_schema.tables "+
		"WHERE table_schema = ?", []any{s.Database}
	if s.Table != "" {
		query, args = query+" AND table_name = ?", append(args, s.Table)
	}
	err = external.Each(ctx, source, query+" ORDER BY table_name", args, func(v []string) error {
		kind := strings.ToLower(v[1])
		if s.Table == "" && (kind == "view" || kind == "sequence") {
			leftOut = append(leftOut, kind+" "+v[0])
			return nil
		}
		if why := refused(kind, v[2]); why != "" {
			return fmt.Errorf("%w: %s.%s %s: restore it into a new cluster (spec.bootstrapFrom of a GaleraCluster)", ErrRefused,
				s.Database, v[0], why)
		}
		names = append(names, v[0])
		return nil
	})
	if err == nil && len(names) == 0 && s.Table != "" {
		err = fmt.Errorf("%w: %s", ErrNotFound, s)
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%w: the database %s has no tables", ErrNotFound, s.Database)
	}
	return names, leftOut, err
}

// refused returns why a table cannot be loaded, "" if it can.
func refused(kind, engine string) string {
	switch {
	case kind == "system versioned":
		return "is system-versioned, and its history cannot be loaded"
	case kind != "base table":
		return "is a " + kind
	case !strings.EqualFold(engine, "InnoDB"):
		return "has the storage engine " + engine + ", which Galera does not replicate"
	}
	return ""
}

// release removes from the source what would go with the tables, and lists it.
func release(ctx context.Context, c *sql.Conn, s Selection, leftOut []string) ([]string, error) {
	statements := []string{"SET SESSION foreign_key_checks = 0"}
	triggers, err := triggersOf(ctx, c, s)
	if err != nil {
		return nil, err
	}
	for _, name := range triggers {
		statements = append(statements, "DROP TRIGGER "+in(s.Database, name))
		leftOut = append(leftOut, "trigger "+name)
	}
	only, args := s.only("table_name")
	err = external.Each(ctx, c, "SELECT table_name, constraint_name, unique_constraint_schema FROM "+
		"information_schema.referential_constraints WHERE constraint_schema = ?"+only+" ORDER BY 1, 2", args,
		func(v []string) error {
			if s.Table != "" || v[2] != s.Database {
				statements = append(statements, "ALTER TABLE "+in(s.Database, v[0])+" DROP FOREIGN KEY "+ident(v[1]))
				leftOut = append(leftOut, "foreign key "+v[0]+"."+v[1])
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	programs, err := programsOf(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return append(leftOut, programs...), run(ctx, c, statements...)
}

// belongings names what is never loaded with tables: all that the database has, or the table, except for foreign keys.
func belongings(ctx context.Context, source external.Querier, s Selection) (leftOut []string, err error) {
	if s.Table == "" {
		err = external.Each(ctx, source, "SELECT LOWER(table_type), table_name FROM information_schema.tables WHERE "+
			"table_schema = ? AND table_type IN ('VIEW', 'SEQUENCE') ORDER BY 2", []any{s.Database}, func(v []string) error {
			leftOut = append(leftOut, v[0]+" "+v[1])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	triggers, err := triggersOf(ctx, source, s)
	if err != nil {
		return nil, err
	}
	for _, name := range triggers {
		leftOut = append(leftOut, "trigger "+name)
	}
	programs, err := programsOf(ctx, source, s)
	return append(leftOut, programs...), err
}

// only is the condition that a column names the table, if there is one, and the arguments of the query with it.
func (s Selection) only(column string) (string, []any) {
	if s.Table == "" {
		return "", []any{s.Database}
	}
	return " AND " + column + " = ?", []any{s.Database, s.Table}
}

func triggersOf(ctx context.Context, source external.Querier, s Selection) (names []string, err error) {
	only, args := s.only("event_object_table")
	err = external.Each(ctx, source, "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = ?"+
		only+" ORDER BY 1", args, func(v []string) error {
		names = append(names, v[0])
		return nil
	})
	return names, err
}

// programsOf names the routines and events of a database, with their kinds; none for a table.
func programsOf(ctx context.Context, source external.Querier, s Selection) (names []string, err error) {
	if s.Table != "" {
		return nil, nil
	}
	err = external.Each(ctx, source, "SELECT LOWER(routine_type), routine_name FROM information_schema.routines WHERE "+
		"routine_schema = ? UNION ALL SELECT 'event', event_name FROM information_schema.events "+
		"WHERE event_schema = ? ORDER BY 1, 2", []any{s.Database, s.Database}, func(v []string) error {
		names = append(names, v[0]+" "+v[1])
		return nil
	})
	return names, err
}

func run(ctx context.Context, c *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func ident(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

func in(database, name string) string { return ident(database) + "." + ident(name) }

// code is the number of a server's error, 0 for other errors.
func code(err error) uint16 {
	var answer *mysql.MySQLError
	if errors.As(err, &answer) {
		return answer.Number
	}
	return 0
}
