package external

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	// perByte is how much memory a byte of a row takes at most while it is copied: as it was read, in a buffer that has
	// grown; as a statement, in which it may take two bytes; and as the driver sends that (TestMemoryOfARow).
	perByte = 5.5
	// connectionMemory is what a connection takes besides, baseMemory all else.
	connectionMemory = 8 << 20
	baseMemory       = 64 << 20
	// goShare is the part of a container's memory that is given to the garbage collector as its limit.
	goShare = 0.9
)

// MaxRow returns how large a row may be for a process with a memory limit that copies with some connections: each may
// have such a row at the same time. It is pure.
func MaxRow(limit int64, connections int) int64 {
	left := limit - baseMemory - int64(max(1, connections))*connectionMemory
	return max(1<<20, int64(float64(left)/perByte)/int64(max(1, connections)))
}

// enoughFor returns the memory limit of a container that can copy rows of a size.
func enoughFor(row int64, connections int) int64 {
	n := int64(max(1, connections))
	return int64((float64(n*row)*perByte + float64(baseMemory+n*connectionMemory)) / goShare)
}

// large reports whether one value may take many MiB.
func (c Column) large() bool {
	switch c.Type {
	case "mediumtext", "longtext", "mediumblob", "longblob":
		return true
	}
	return false
}

// length is the expression of how many bytes of a value are sent.
func (c Column) length() string {
	name := ident(c.Name)
	if c.kind() == kindText && !strings.HasPrefix(c.Collation, "utf8") {
		name = "CONVERT(" + name + " USING utf8mb4)"
	}
	return "COALESCE(OCTET_LENGTH(" + name + "), 0)"
}

// selection returns the expressions that columns are read by. Where rows have a bound, and may be longer, sized is set:
// the last expression is then the size of the large values, without which longer rows are sent.
func selection(columns []Column, bound int64) (out []string, sized bool) {
	var lengths []string
	for _, c := range columns {
		if c.large() && bound > 0 {
			lengths = append(lengths, c.length())
		}
	}
	size := strings.Join(lengths, " + ")
	for _, c := range columns {
		one := c.selected()
		if c.large() && size != "" {
			one = "IF(" + size + " > " + strconv.FormatInt(bound, 10) + ", NULL, " + one + ")"
		}
		out = append(out, one)
	}
	if size == "" {
		return out, false
	}
	return append(out, size), true
}

// fits refuses a row of a size that this process has not enough memory for.
func (c *copier) fits(t Table, size []byte) error {
	n, err := strconv.ParseInt(string(size), 10, 64)
	if err != nil {
		return SourceError{fmt.Errorf("%w: a size is none", errImplausible)}
	}
	if n <= c.MaxRow {
		return nil
	}
	return fmt.Errorf("%w: one of the table %s has values of %d MiB, and the memory of this Job is enough for %d MiB: "+
		"with %d connections it takes a limit of %d MiB (spec.from.external.resources.limits.memory)", ErrTooLarge, t,
		n>>20, c.MaxRow>>20, c.Connections, enoughFor(n, c.Connections)>>20+1)
}

// ofTarget explains an error of writing a table.
func (c *copier) ofTarget(ctx context.Context, t Table, err error) error {
	if !tooLarge(err) {
		return fmt.Errorf("writing %s: %w", t, err)
	}
	what := "1 GiB"
	if c.Only != nil { // into servers that have settings of their own
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
