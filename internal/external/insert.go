package external

import (
	"context"
	"database/sql"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// freedBytes is the length of a statement from which on the memory of what is no longer used is given back before more
// is taken: a collector that waits for a processor would be too late for the container's limit.
const freedBytes = 16 << 20

// inserter collects rows for one INSERT, and calls done when they are written.
type inserter struct {
	conn  *sql.Conn
	begin string
	kinds []kind
	pace  pace
	done  func(rows, bytes int)
	text  []byte
	// rows and bytes are those of the values that are not written yet.
	rows, bytes int
}

func (i *inserter) add(ctx context.Context, values []sql.RawBytes) error {
	if i.rows == 0 {
		i.text = append(i.text[:0], i.begin...)
	} else {
		i.text = append(i.text, ',')
	}
	length := literalsLength(i.kinds, values)
	if length > freedBytes {
		debug.FreeOSMemory()
	}
	i.text = slices.Grow(i.text, length)
	i.text = append(i.text, '(')
	for n, v := range values {
		if n > 0 {
			i.text = append(i.text, ',')
		}
		if k := i.kinds[n]; v != nil && (k == kindNumber || k == kindFloat) && !isNumber(v) {
			return SourceError{fmt.Errorf("%w: a number is none", errImplausible)}
		}
		i.text = appendValue(i.text, i.kinds[n], v)
		i.bytes += len(v)
	}
	i.text = append(i.text, ')')
	if i.rows++; i.rows < insertRows && len(i.text) < insertBytes {
		return nil
	}
	return i.flush(ctx)
}

func (i *inserter) flush(ctx context.Context) error {
	if i.rows == 0 {
		return nil
	}
	if err := i.pace.wait(ctx, int64(i.bytes)); err != nil { // meanwhile nothing more is read
		return SourceError{err}
	}
	// Not copied: the text may be large, and stays as it is until the statement has ended.
	statement := unsafe.String(unsafe.SliceData(i.text), len(i.text))
	if _, err := i.conn.ExecContext(ctx, statement); err != nil {
		return err
	}
	i.done(i.rows, i.bytes)
	length := len(i.text)
	if length > 2*insertBytes {
		i.text = nil // that of a large row is not kept
	}
	if length > freedBytes {
		debug.FreeOSMemory()
	}
	i.rows, i.bytes = 0, 0
	return nil
}

// literalsLength is what literals take, exactly for large values: a text that grows by and by would be twice in memory.
func literalsLength(kinds []kind, values []sql.RawBytes) (n int) {
	for c, v := range values {
		n += len(v)
		switch {
		case len(v) < insertBytes:
		case kinds[c] == kindBytes:
			n += len(v)
		case kinds[c] == kindText:
			for _, b := range v {
				if escaped(b) != 0 {
					n++
				}
			}
		}
	}
	return n + 4*len(values) + 2
}

// copyPart copies the rows of a part, and those last that there has to be memory for.
func (c *copier) copyPart(ctx context.Context, from, to *sql.Conn, p part) error {
	if c.Resumed != "" {
		if kept, err := c.kept(ctx, from, to, p); kept || err != nil {
			return err
		}
	}
	largest, err := c.copyRows(ctx, from, to, p, sized{upTo: c.each})
	if err != nil || largest == 0 {
		return err
	}
	if err := c.large.Acquire(ctx, largest); err != nil {
		return err
	}
	defer c.large.Release(largest)
	_, err = c.copyRows(ctx, from, to, p, sized{above: c.each, upTo: largest})
	return err
}

// sized are the rows with large values of more than above, and at most upTo bytes; 0 for no bound.
type sized struct{ above, upTo int64 }

// copyRows reads rows in the order of the primary key, and inserts them in transactions of a bounded size. It returns
// the size of the largest row that was left out for its size, 0 for none.
func (c *copier) copyRows(ctx context.Context, from, to *sql.Conn, p part, of sized) (largest int64, err error) {
	columns := p.table.copied()
	names, kinds := make([]string, len(columns)), make([]kind, len(columns))
	for i, col := range columns {
		names[i], kinds[i] = ident(col.Name), col.kind()
	}
	query, withSize := p.query(columns, of)
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return 0, ofSource("reading "+p.table.String(), err)
	}
	defer func() { _ = rows.Close() }()
	i := inserter{conn: to, begin: "INSERT INTO " + p.table.inTarget() + " (" + strings.Join(names, ", ") + ") VALUES ",
		kinds: kinds, pace: c.pace, done: func(rows, bytes int) {
			c.rows.Add(int64(rows))
			c.bytes.Add(int64(bytes))
			c.report()
		}}
	values, scan := make([]sql.RawBytes, len(columns), len(columns)+1), []any{}
	if withSize {
		values = values[:len(columns)+1]
	}
	for n := range values {
		scan = append(scan, &values[n])
	}
	for rows.Next() {
		if err := rows.Scan(scan...); err != nil {
			return 0, ofSource("reading "+p.table.String(), err)
		}
		if withSize {
			n, err := c.size(p.table, values[len(columns)])
			if err != nil {
				return 0, err
			}
			if n > of.upTo {
				largest = max(largest, n)
				continue
			}
		}
		if err := i.add(ctx, values[:len(columns)]); err != nil {
			return 0, c.ofTarget(ctx, p.table, err)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, ofSource("reading "+p.table.String(), err)
	}
	if err := i.flush(ctx); err != nil {
		return 0, c.ofTarget(ctx, p.table, err)
	}
	return largest, nil
}

// query reads rows of a part, with the size of their large values as the last column if withSize is set.
func (p part) query(columns []Column, of sized) (query string, withSize bool) {
	selected, withSize := selection(columns, of.upTo)
	query = "SELECT " + strings.Join(selected, ", ") + " FROM " + p.table.quoted()
	where := p.where()
	if of.above > 0 {
		and := " WHERE "
		if where != "" {
			and = " AND "
		}
		where += and + sizes(columns) + " > " + strconv.FormatInt(of.above, 10)
	}
	if len(p.table.Key) == 0 {
		return query + where, withSize
	}
	order := make([]string, len(p.table.Key))
	for i, k := range p.table.Key {
		order[i] = ident(k)
	}
	return query + " FORCE INDEX (PRIMARY)" + where + " ORDER BY " + strings.Join(order, ", "), withSize
}
