package harness

import (
	"crypto/md5" //nolint:gosec // MariaDB's MD5(), to change rows in the same way
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

const (
	// recordDatabase holds the tables of a Recorder.
	recordDatabase = "recorded"
	// maxTables and maxRows bound what a Recorder keeps, and what is compared after each restore.
	maxTables, maxRows = 4, 60
)

// Contents are tables as a client sees them, by name. A value is never changed: operations make another one.
type Contents map[string]recordedTable

// recordedTable has the columns id, v, and others that hold their default in every row.
type recordedTable struct {
	columns []int // by their default: 7 is the column c7 INT DEFAULT 7
	rows    map[int]string
}

func (t recordedTable) clone() recordedTable {
	return recordedTable{columns: slices.Clone(t.columns), rows: maps.Clone(t.rows)}
}

// String is every row of every table, in order: what readContents reads from a server.
func (c Contents) String() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		t := c[name]
		header, tail := []string{"id", "v"}, ""
		for _, d := range t.columns {
			header, tail = append(header, fmt.Sprintf("c%d", d)), tail+fmt.Sprintf("|%d", d)
		}
		fmt.Fprintf(&out, "%s(%s)\n", name, strings.Join(header, ","))
		for _, id := range slices.Sorted(maps.Keys(t.rows)) {
			fmt.Fprintf(&out, "%d|%s%s\n", id, t.rows[id], tail)
		}
	}
	return out.String()
}

// operation is one transaction, or one statement that changes tables.
type operation struct {
	statements []string
	after      Contents
	// fails is the number of the error that the server must answer with, 0 for none.
	fails uint16
	// unlogged is missing in the binary log of the node that it is made on.
	unlogged bool
}

// chooser makes random operations.
type chooser struct {
	*rand.Rand
	next int // of rows, tables and columns
}

func (r *chooser) number() int { r.next++; return r.next }

// choose returns an operation on the contents. On a cluster of one node nothing is unlogged: it would be in no binary
// log.
func (r *chooser) choose(c Contents, alone bool) operation {
	after := maps.Clone(c)
	switch n := r.IntN(100); {
	case len(c) == 0 || n < 4 && len(c) < maxTables:
		return r.create(after)
	case n < 20:
		return r.definition(after)
	case n < 24 && !alone:
		s := r.change(after)
		return operation{statements: []string{"SET SESSION sql_log_bin = 0", s, "SET SESSION sql_log_bin = 1"}, after: after,
			unlogged: true}
	case n < 28:
		return operation{statements: []string{"BEGIN", r.insert(maps.Clone(c)), "ROLLBACK"}, after: c}
	case n < 60:
		return operation{statements: []string{r.change(after)}, after: after}
	}
	statements := []string{"BEGIN"}
	for range 1 + r.IntN(4) {
		statements = append(statements, r.change(after))
	}
	return operation{statements: append(statements, "COMMIT"), after: after}
}

func (r *chooser) table(c Contents) string {
	names := slices.Sorted(maps.Keys(c))
	return names[r.IntN(len(names))]
}

func (r *chooser) create(c Contents) operation {
	name := fmt.Sprintf("t%d", r.number())
	c[name] = recordedTable{rows: map[int]string{}}
	return operation{statements: []string{fmt.Sprintf("CREATE TABLE %s.%s (id INT PRIMARY KEY, v CHAR(32) NOT NULL)",
		recordDatabase, name)}, after: c}
}

// definition changes what tables there are, or their columns.
func (r *chooser) definition(c Contents) operation {
	name := r.table(c)
	t, at := c[name].clone(), recordDatabase+"."+name
	one := func(format string, args ...any) operation {
		return operation{statements: []string{fmt.Sprintf(format, args...)}, after: c}
	}
	switch r.IntN(6) {
	case 0:
		return operation{statements: []string{"CREATE TABLE " + at + " (id INT)"}, after: c, fails: 1050}
	case 1:
		to := fmt.Sprintf("t%d", r.number())
		delete(c, name)
		c[to] = t
		return one("RENAME TABLE %s TO %s.%s", at, recordDatabase, to)
	case 2:
		c[name] = recordedTable{columns: t.columns, rows: map[int]string{}}
		return one("TRUNCATE TABLE %s", at)
	case 3:
		if len(c) > 1 {
			delete(c, name)
			return one("DROP TABLE %s", at)
		}
	case 4:
		if len(t.columns) > 0 {
			d := t.columns[0]
			t.columns = t.columns[1:]
			c[name] = t
			return one("ALTER TABLE %s DROP COLUMN c%d", at, d)
		}
	}
	d := r.number()
	t.columns = append(t.columns, d)
	c[name] = t
	return one("ALTER TABLE %s ADD COLUMN c%d INT NOT NULL DEFAULT %d", at, d, d)
}

// change changes rows of one table.
func (r *chooser) change(c Contents) string {
	name := r.table(c)
	t := c[name].clone()
	if len(t.rows) == 0 || len(t.rows) < maxRows && r.IntN(2) == 0 {
		return r.insert(c)
	}
	c[name] = t
	divisor := 2 + r.IntN(5)
	rest := r.IntN(divisor)
	remove := len(t.rows) >= maxRows || r.IntN(4) == 0
	for id, v := range t.rows {
		switch {
		case id%divisor != rest:
		case remove:
			delete(t.rows, id)
		default:
			sum := md5.Sum(fmt.Appendf(nil, "%s%d", v, id)) //nolint:gosec // as above
			t.rows[id] = hex.EncodeToString(sum[:])
		}
	}
	if remove {
		return fmt.Sprintf("DELETE FROM %s.%s WHERE id %% %d = %d", recordDatabase, name, divisor, rest)
	}
	return fmt.Sprintf("UPDATE %s.%s SET v = MD5(CONCAT(v, id)) WHERE id %% %d = %d", recordDatabase, name, divisor, rest)
}

// insert adds rows to one table.
func (r *chooser) insert(c Contents) string {
	name := r.table(c)
	t := c[name].clone()
	c[name] = t
	var values []string
	for range 1 + r.IntN(5) {
		id := r.number()
		t.rows[id] = fmt.Sprintf("%032x", r.Uint64())
		values = append(values, fmt.Sprintf("(%d, '%s')", id, t.rows[id]))
	}
	return fmt.Sprintf("INSERT INTO %s.%s (id, v) VALUES %s", recordDatabase, name, strings.Join(values, ", "))
}
