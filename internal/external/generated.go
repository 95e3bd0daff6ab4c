package external

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// ComputedColumns is the warning about STORED generated columns whose values depend on the session that writes a row.
const ComputedColumns = "ComputedColumns"

// whatToDo about columns that the new server computes otherwise.
const whatToDo = "make it a plain column on the source, which keeps what is stored (ALTER TABLE … MODIFY with its " +
	"type, and without AS), and let the application or a trigger fill it"

// isStored reports whether a generated column is computed when a row is written, by information_schema.columns. The
// period of a system-versioned table is not.
func isStored(extra, expression string) bool {
	return strings.Contains(strings.ToUpper(extra), "STORED GENERATED") &&
		!slices.Contains([]string{"ROW START", "ROW END"}, strings.ToUpper(expression))
}

// zoned are functions whose results depend on the session's time_zone. So does a TIMESTAMP in any expression.
var zoned = regexp.MustCompile(`(?i)\b(?:from_unixtime|unix_timestamp)\s*\(`)

// dependent names the STORED columns of a table that are computed by the time_zone of the session that writes the row.
// expressions are those of all columns, in order. It is pure.
func dependent(columns []Column, expressions []string) (out []string) {
	for i, c := range columns {
		if c.Stored && (zoned.MatchString(expressions[i]) || namesTimestamp(columns, expressions[i])) {
			out = append(out, c.Name)
		}
	}
	return out
}

func namesTimestamp(columns []Column, expression string) bool {
	return slices.ContainsFunc(columns, func(c Column) bool {
		return c.Type == "timestamp" && strings.Contains(expression, ident(c.Name))
	})
}

// warnComputed names STORED columns that depend on the session.
func warnComputed(inv Inventory) []task.Finding {
	var found []string
	for _, t := range inv.Tables {
		for _, name := range t.dependent {
			found = append(found, t.String()+"."+name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return []task.Finding{{Name: ComputedColumns, Objects: found[:min(len(found), shownObjects)], Count: len(found),
		Message: "the values of such a STORED generated column depend on the time_zone of the session that wrote the row. " +
			"The copy computes them in UTC, and is refused at its end if the source has stored another value; and a node of " +
			"11.8 computes anew what another one has written. If not all sessions are in UTC, " + whatToDo}}
}

// differs describes a part whose rows are not the source's.
func (c *copier) differs(ctx context.Context, from, to *sql.Conn, p part, rows string) error {
	differ := fmt.Errorf("%w: the checksum of %s%s, with %s rows", ErrDiffers, p.table, p.where(), rows)
	computed := p.table.computed()
	if len(computed) == 0 {
		return differ
	}
	copied := slices.Clip(p.table.copied())
	here, there, err := c.digestsOf(ctx, from, to, p, copied)
	if err != nil {
		return err
	}
	if here != there {
		return differ
	}
	var names []string
	for _, column := range computed {
		if here, there, err = c.digestsOf(ctx, from, to, p, append(copied, column)); err != nil {
			return err
		}
		if here != there {
			names = append(names, p.table.String()+"."+column.Name)
		}
	}
	return fmt.Errorf("%w: the STORED generated column %s: the new server computes other values, in UTC, than the source "+
		"has stored: %s", ErrDiffers, strings.Join(names, " and "), whatToDo)
}

// withComputed names the STORED generated columns of a table, for a difference.
func withComputed(t Table) string {
	var names []string
	for _, c := range t.computed() {
		names = append(names, c.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return " and the STORED generated " + strings.Join(names, ", ")
}
