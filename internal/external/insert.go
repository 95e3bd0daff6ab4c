package external

import (
	"context"
	"database/sql"
	"fmt"
)

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
	if _, err := i.conn.ExecContext(ctx, string(i.text)); err != nil {
		return err
	}
	i.done(i.rows, i.bytes)
	i.rows, i.bytes = 0, 0
	return nil
}
