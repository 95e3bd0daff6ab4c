package external

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// findBudget finds out how much memory there is for large rows.
func (c *copier) findBudget(ctx context.Context) error {
	c.budget = budget{Memory: c.Memory, connections: int64(c.Connections)}
	if c.Limit > 0 && c.Shared {
		server := c.target
		if c.FromSource {
			server = c.source
		}
		if err := server.QueryRowContext(ctx, "SELECT @@innodb_buffer_pool_size").Scan(&c.budget.pool); err != nil {
			return fmt.Errorf("asking for the size of the buffer pool: %w", err)
		}
		debug.SetMemoryLimit(c.budget.own()) // by the container's limit, the server's memory would be taken, too
	}
	c.each, c.waiting = c.budget.bounds()
	c.large = semaphore.NewWeighted(c.waiting)
	return nil
}

// manyTexts is how many columns of 64 KiB make a row larger than the least one.
const manyTexts = leastRow >> 16

// large are the columns whose values may take much: many MiB, or 64 KiB as one of many.
func large(columns []Column) (out []Column) {
	var texts []Column
	for _, c := range columns {
		switch c.Type {
		case "mediumtext", "longtext", "mediumblob", "longblob", "geometry", "linestring", "polygon", "multipoint",
			"multilinestring", "multipolygon", "geometrycollection", "geomcollection":
			out = append(out, c)
		case "text", "blob":
			texts = append(texts, c)
		}
	}
	if len(texts) >= manyTexts {
		out = append(out, texts...)
	}
	return out
}

// length is the expression of how many bytes of a value are sent.
func (c Column) length() string {
	name := ident(c.Name)
	if c.kind() == kindText && !strings.HasPrefix(c.Collation, "utf8") {
		name = "CONVERT(" + name + " USING utf8mb4)"
	}
	return "COALESCE(OCTET_LENGTH(" + name + "), 0)"
}

// selection returns the expressions that columns are read by. Where rows have a bound, and may be longer, the last one
// is the size of the large values, and longer rows are sent without them, but for texts of 64 KiB: of each of many, the
// size of all would be many terms to evaluate, for a few MiB.
func selection(columns []Column, bound int64) (out []string, sized bool) {
	size, without := sizes(columns), large(columns)
	if bound == 0 {
		size = ""
	}
	for _, c := range columns {
		one := c.selected()
		if size != "" && slices.Contains(without, c) && c.Type != "text" && c.Type != "blob" {
			one = "IF(" + size + " > " + strconv.FormatInt(bound, 10) + ", NULL, " + one + ")"
		}
		out = append(out, one)
	}
	if size == "" {
		return out, false
	}
	return append(out, size), true
}

// sizes is the expression of how many bytes the large values of a row take, "" if it has none.
func sizes(columns []Column) string {
	var lengths []string
	for _, c := range large(columns) {
		lengths = append(lengths, c.length())
	}
	return strings.Join(lengths, " + ")
}

// size reads the size of a row, and refuses one that there is not enough memory for.
func (c *copier) size(t Table, text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, SourceError{fmt.Errorf("%w: a size is none", errImplausible)}
	}
	if n <= c.waiting {
		return n, nil
	}
	field := "spec.resources.limits.memory of the cluster"
	if c.Only != nil {
		field = "spec.from.external.resources.limits.memory"
	}
	return 0, fmt.Errorf("%w: one of the table %s has values of %d MiB, and the memory of this Job is enough for %d MiB: "+
		"with %s it takes a limit of %d MiB (%s)", ErrTooLarge, t, n>>20, c.waiting>>20,
		galera.Count(c.Connections, "connection"), c.budget.enoughFor(n)>>20+1, field)
}

// ofTarget explains an error of writing a table.
func (c *copier) ofTarget(ctx context.Context, t Table, err error) error {
	if !tooLarge(err) {
		return fmt.Errorf("writing %s: %w", t, err)
	}
	what := "1 GiB"
	if c.Only != nil || c.Present { // into servers that have settings of their own
		var most int64
		if c.target.QueryRowContext(context.WithoutCancel(ctx), "SELECT @@max_allowed_packet").Scan(&most) == nil {
			what = fmt.Sprintf("the %d MiB that the cluster accepts (raise max_allowed_packet in spec.mariadb.config, up to 1G)",
				most>>20)
		}
	}
	return fmt.Errorf("%w: one of the table %s takes more than %s as a statement, in which a byte of a binary column "+
		"takes two: divide the value over rows, or delete it (SELECT MAX(OCTET_LENGTH(…)) finds it): %w", ErrTooLarge, t,
		what, err)
}
