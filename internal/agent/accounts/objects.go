package accounts

import (
	"context"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// objects are what exists of what grants name. The server would report it as well, but a refused GRANT stops the whole
// cluster for a moment like any other.
type objects struct {
	databases map[string]bool
	// tables have their columns, in lower case; a table that does not exist has none.
	tables map[scope]map[string]bool
	roles  map[string]bool
}

// lacks names what does not exist of what a right is on, "" when all does. A right to create a table can be given
// before there is one.
func (o objects) lacks(r right, want rights) string {
	switch {
	case r.database == all:
		return ""
	case r.table == all:
		if !o.databases[plain(r.database)] {
			return "the database " + plain(r.database)
		}
		return ""
	case !o.databases[r.database]:
		return "the database " + r.database
	}
	columns := o.tables[r.scope]
	switch {
	case r.column != "" && len(columns) > 0 && !columns[strings.ToLower(r.column)]:
		return "the column " + r.database + "." + r.table + "." + r.column
	case len(columns) == 0 && !want[right{r.scope, "CREATE", ""}] && !want[right{r.scope, everything, ""}]:
		return "the table " + r.database + "." + r.table
	}
	return ""
}

// objects reads which of the named objects exist.
func (s session) objects(ctx context.Context, u agentapi.SQLUser) (objects, error) {
	out := objects{databases: map[string]bool{}, tables: map[scope]map[string]bool{}, roles: map[string]bool{}}
	for _, g := range u.Grants {
		if g.Database == all {
			continue
		}
		if _, read := out.databases[g.Database]; !read {
			is, err := s.schema(ctx, g.Database)
			if err != nil {
				return out, err
			}
			out.databases[g.Database] = is != nil
		}
		on := scope{database: g.Database, table: g.Table}
		if _, read := out.tables[on]; read || g.Table == all || !out.databases[g.Database] {
			continue
		}
		columns, err := s.columns(ctx, on)
		if err != nil {
			return out, err
		}
		out.tables[on] = columns
	}
	for _, r := range u.Roles {
		row, err := s.first(ctx, "SELECT 1 FROM mysql.global_priv WHERE User = ? AND Host = ''", r)
		if err != nil {
			return out, err
		}
		out.roles[r] = row != nil
	}
	return out, nil
}

// columns reads a table's columns, none when there is no such table.
func (s session) columns(ctx context.Context, of scope) (map[string]bool, error) {
	rows, err := s.rows(ctx,
		"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?",
		of.database, of.table)
	out := map[string]bool{}
	for _, r := range rows {
		if r[0] == of.table { // the server's comparison minds no case
			out[strings.ToLower(r[1])] = true
		}
	}
	return out, err
}
