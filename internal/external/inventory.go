package external

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
)

// systemDatabases are never copied: accounts come by statements, and the marks of owners (agentapi.MarksDatabase) are
// those of another operator.
var systemDatabases = []string{"information_schema", "performance_schema", "mysql", "sys", "galera_operator"}

// Inventory is what the databases to copy hold.
type Inventory struct {
	Databases []Object
	Tables    []Table
	// Sequences are not copied.
	Sequences []Sequence
	Views     []Object
	// Routines are procedures, functions and packages.
	Routines []Object
	Triggers []Object
	Events   []Object
	// Hidden are objects whose definition the account may not see.
	Hidden []string
}

// Object is what one statement creates.
type Object struct {
	Database, Name string
	Create         string
	// SQLMode, Collation and TimeZone belong to the definition; "" where it has none.
	SQLMode, Collation, TimeZone string
}

func (o Object) String() string { return o.Database + "." + o.Name }

// Table is a base table.
type Table struct {
	Object
	Engine    string
	Versioned bool
	Columns   []Column
	// Key is the primary key's columns, in order.
	Key []string
	// dependent are the columns that are computed by the time_zone of the session that writes a row.
	dependent []string
	// changed is when its definition's file was changed last, also by a new name, and justNow that it was just now.
	changed string
	justNow bool
	// Rows and Bytes are estimates.
	Rows, Bytes int64
	// target is what it is called in the target; the zero value for what it is called here.
	target Object
}

// Column of a table.
type Column struct {
	Name string
	// Type is that without length ("varchar"), Full the one with it ("varchar(20)").
	Type, Full, Collation string
	Nullable, Generated   bool
	// Stored reports whether a generated one has its values on the disk, as the session that wrote the row has computed
	// them: another session may compute others.
	Stored bool
}

// copied are the columns whose values are copied: the new server computes the generated ones.
func (t Table) copied() []Column { return t.columns(func(c Column) bool { return !c.Generated }) }

// compared are those whose values are on the disk.
func (t Table) compared() []Column {
	return t.columns(func(c Column) bool { return !c.Generated || c.Stored })
}

// computed are those whose values are on the disk, and are not copied.
func (t Table) computed() []Column { return t.columns(func(c Column) bool { return c.Stored }) }

func (t Table) columns(which func(Column) bool) (out []Column) {
	for _, c := range t.Columns {
		if which(c) {
			out = append(out, c)
		}
	}
	return out
}

func (t Table) quoted() string { return ident(t.Database) + "." + ident(t.Name) }

// at is where the target has it.
func (t Table) at() Object {
	if t.target.Name == "" {
		return t.Object
	}
	return t.target
}

func (t Table) inTarget() string { return Table{Object: t.at()}.quoted() }

// readInventory reads the definitions of all objects of some databases.
func readInventory(ctx context.Context, c *sql.Conn, databases []string) (Inventory, error) {
	var inv Inventory
	for _, db := range databases {
		r, err := row(ctx, c, "SHOW CREATE DATABASE "+ident(db))
		if err != nil {
			return inv, fmt.Errorf("the database %s: %w", db, err)
		}
		o := Object{Database: db, Create: r["create database"].String}
		if err := plausible("DATABASE", o); err != nil {
			return inv, err
		}
		inv.Databases = append(inv.Databases, o)
	}
	if len(databases) == 0 {
		return inv, nil
	}
	in, elsewhere := "("+list(databases)+")", foreign(databases)
	if err := inv.readTables(ctx, c, in, elsewhere); err != nil {
		return inv, err
	}
	for _, kind := range []struct {
		query, show string // %s is the databases; the show takes the kind of the object, if the query returns one
		to          *[]Object
	}{
		{"SELECT table_schema, table_name, 'VIEW' FROM information_schema.views WHERE table_schema IN %s ORDER BY 1, 2",
			"create view", &inv.Views},
		{"SELECT routine_schema, routine_name, routine_type FROM information_schema.routines WHERE routine_schema IN %s " +
			"ORDER BY 1, 3, 2", "", &inv.Routines},
		{"SELECT trigger_schema, trigger_name, 'TRIGGER' FROM information_schema.triggers WHERE trigger_schema IN %s " +
			"ORDER BY 1, event_object_table, action_timing, event_manipulation, action_order", "sql original statement",
			&inv.Triggers},
		{"SELECT event_schema, event_name, 'EVENT' FROM information_schema.events WHERE event_schema IN %s ORDER BY 1, 2",
			"create event", &inv.Events},
	} {
		if err := inv.readObjects(ctx, c, fmt.Sprintf(kind.query, in), kind.show, elsewhere, kind.to); err != nil {
			return inv, err
		}
	}
	return inv, nil
}

// readObjects reads the definitions of the objects that a query lists.
func (inv *Inventory) readObjects(ctx context.Context, c *sql.Conn, query, column string,
	elsewhere func(string) bool, to *[]Object) error {
	var found [][]string
	if err := each(ctx, c, query, func(v []string) { found = append(found, v) }); err != nil {
		return err
	}
	for _, v := range found {
		o := Object{Database: v[0], Name: v[1]}
		if elsewhere(o.Database) || beginnings[v[2]] == nil {
			return fmt.Errorf("%w: it names %s, a %s, which it was not asked for", errImplausible, o, v[2])
		}
		r, err := row(ctx, c, "SHOW CREATE "+v[2]+" "+ident(o.Database)+"."+ident(o.Name))
		if err != nil {
			return fmt.Errorf("the definition of %s: %w", o, err)
		}
		name := column
		if name == "" {
			name = "create " + strings.ToLower(v[2])
		}
		if !r[name].Valid {
			inv.Hidden = append(inv.Hidden, o.String())
			continue
		}
		o.Create, o.SQLMode, o.Collation, o.TimeZone = r[name].String, r["sql_mode"].String,
			r["collation_connection"].String, r["time_zone"].String
		if err := plausible(v[2], o); err != nil {
			return err
		}
		*to = append(*to, o)
	}
	return nil
}

// changedAt is the time of the file with a table's definition.
const changedAt = "COALESCE(create_time, '')"

func (inv *Inventory) readTables(ctx context.Context, c *sql.Conn, in string, elsewhere func(string) bool) error {
	at := map[string]int{}
	var sequences []Object
	err := each(ctx, c, "SELECT table_schema, table_name, table_type, COALESCE(engine, ''), COALESCE(table_rows, 0), "+
		"COALESCE(data_length, 0) + COALESCE(index_length, 0), "+changedAt+", "+
		"COALESCE(ABS(TIMESTAMPDIFF(SECOND, create_time, NOW())) <= 2, 0) FROM information_schema.tables WHERE "+
		"table_schema IN "+in+" AND table_type <> 'VIEW' ORDER BY 1, 2", func(v []string) {
		t := Table{Object: Object{Database: v[0], Name: v[1]}, Engine: v[3], Versioned: v[2] == "SYSTEM VERSIONED",
			changed: v[6], justNow: v[7] == "1"}
		if v[2] == "SEQUENCE" {
			sequences = append(sequences, t.Object)
			return
		}
		_, _ = fmt.Sscan(v[4], &t.Rows)
		_, _ = fmt.Sscan(v[5], &t.Bytes)
		at[t.quoted()] = len(inv.Tables)
		inv.Tables = append(inv.Tables, t)
	})
	if err != nil {
		return err
	}
	if err := inv.readSequences(ctx, c, sequences, elsewhere); err != nil {
		return err
	}
	of := func(v []string) *Table {
		if i, ok := at[Table{Object: Object{Database: v[0], Name: v[1]}}.quoted()]; ok {
			return &inv.Tables[i]
		}
		return nil
	}
	expressions := map[string][]string{}
	err = each(ctx, c, "SELECT table_schema, table_name, column_name, data_type, column_type, "+
		"COALESCE(collation_name, ''), is_nullable, is_generated, extra, COALESCE(generation_expression, '') "+
		"FROM information_schema.columns WHERE table_schema IN "+in+" ORDER BY 1, 2, ordinal_position", func(v []string) {
		if t := of(v); t != nil {
			t.Columns = append(t.Columns, Column{Name: v[2], Type: strings.ToLower(v[3]), Full: v[4], Collation: renamed(v[5]),
				Nullable: v[6] == "YES", Generated: v[7] == "ALWAYS", Stored: v[7] == "ALWAYS" && isStored(v[8], v[9])})
			expressions[t.quoted()] = append(expressions[t.quoted()], v[9])
		}
	})
	if err != nil {
		return err
	}
	err = each(ctx, c, "SELECT table_schema, table_name, column_name FROM information_schema.statistics WHERE "+
		"index_name = 'PRIMARY' AND table_schema IN "+in+" ORDER BY 1, 2, seq_in_index", func(v []string) {
		if t := of(v); t != nil {
			t.Key = append(t.Key, v[2])
		}
	})
	for i := 0; i < len(inv.Tables) && err == nil; i++ {
		t := &inv.Tables[i]
		if elsewhere(t.Database) {
			return fmt.Errorf("%w: it names the table %s, which it was not asked for", errImplausible, t)
		}
		t.dependent = dependent(t.Columns, expressions[t.quoted()])
		if t.Engine != "" && !strings.EqualFold(t.Engine, "InnoDB") { // it is refused by name, with a definition or without
			continue
		}
		var r map[string]sql.NullString
		if r, err = row(ctx, c, "SHOW CREATE TABLE "+t.quoted()); err != nil {
			return fmt.Errorf("the table %s: %w", t, err)
		}
		t.Create = r["create table"].String
		err = plausible("TABLE", t.Object)
	}
	return err
}

// renamed is a collation by its name since 10.6: before, those of utf8mb3 were called utf8.
func renamed(collation string) string {
	if rest, old := strings.CutPrefix(collation, "utf8_"); old {
		return "utf8mb3_" + rest
	}
	return collation
}

// counter is what changes in a definition with each row.
var counter = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// definitions are all statements of an inventory, without what changes with the rows.
func (inv Inventory) definitions() []string {
	var out []string
	for _, t := range inv.Tables {
		out = append(out, counter.ReplaceAllString(t.String()+"\n"+t.Create, ""))
	}
	for _, objects := range [][]Object{inv.Databases, inv.Views, inv.Routines, inv.Triggers, inv.Events} {
		for _, o := range objects {
			out = append(out, strings.Join([]string{o.String(), o.Create, o.SQLMode, o.Collation, o.TimeZone}, "\n"))
		}
	}
	for _, s := range inv.Sequences {
		out = append(out, s.String()+"\n"+s.Options)
	}
	return out
}

// changed names an object that two inventories do not have in common, "" if they are the same.
func changed(a, b Inventory) string {
	x, y := a.definitions(), b.definitions()
	for _, pair := range [][2][]string{{x, y}, {y, x}} {
		have := make(map[string]bool, len(pair[1])) // there may be many: nothing here may be quadratic
		for _, d := range pair[1] {
			have[d] = true
		}
		for _, d := range pair[0] {
			if !have[d] {
				name, _, _ := strings.Cut(d, "\n")
				return name
			}
		}
	}
	return ""
}
