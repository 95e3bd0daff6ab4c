package external

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// kind is how a column's values are written, and compared.
type kind int

const (
	kindText   kind = iota // as characters
	kindNumber             // as they are
	kindFloat              // as a DOUBLE: a FLOAT is shown with six digits, which are not all
	kindBytes              // in hexadecimal
)

func (c Column) kind() kind {
	switch c.Type {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year":
		return kindNumber
	case "float", "double":
		return kindFloat
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bit",
		"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geometrycollection", "geomcollection":
		return kindBytes
	}
	return kindText
}

// selected is the expression that a column is read by.
func (c Column) selected() string {
	if c.kind() == kindFloat {
		return "CAST(" + ident(c.Name) + " AS DOUBLE)"
	}
	return ident(c.Name)
}

// appendValue writes a value as a literal.
func appendValue(to []byte, k kind, v []byte) []byte {
	switch {
	case v == nil:
		return append(to, "NULL"...)
	case k == kindNumber || k == kindFloat:
		return append(to, v...)
	case k == kindBytes:
		to = append(to, "X'"...)
		to = hex.AppendEncode(to, v)
		return append(to, '\'')
	}
	return appendText(to, v)
}

func appendText(to, v []byte) []byte {
	to = append(to, '\'')
	for _, b := range v {
		if e := escaped(b); e != 0 {
			to = append(to, '\\', e)
		} else {
			to = append(to, b)
		}
	}
	return append(to, '\'')
}

// escaped is what a byte is written as after a backslash, 0 for one that stands for itself.
func escaped(b byte) byte {
	switch b {
	case 0:
		return '0'
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case 0x1a:
		return 'Z'
	case '\\', '\'':
		return b
	}
	return 0
}

// compared is the expression of a column in a digest: the bytes as they are stored, whatever the connection's character
// set.
func (c Column) compared() string {
	name := ident(c.Name)
	switch c.kind() {
	case kindNumber:
		return "IFNULL(" + name + ", 'N')"
	case kindFloat:
		return "IFNULL(CAST(" + name + " AS DOUBLE), 'N')"
	case kindBytes:
		if c.Type == "bit" {
			return "IFNULL(HEX(" + name + "), 'N')"
		}
	}
	switch c.Type {
	case "date", "time", "datetime", "timestamp":
		return "IFNULL(" + name + ", 'N')"
	}
	return "IFNULL(MD5(" + name + "), 'N')"
}

// digestSQL counts the rows of a table that a server has under a name, or of those that a WHERE clause selects, and
// sums up two checksums of the columns of each: neither depends on the order of rows.
func digestSQL(columns []Column, name, where string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = c.compared()
	}
	line := "CONCAT_WS(',', " + strings.Join(parts, ", ") + ")"
	return fmt.Sprintf("SELECT COUNT(*), COALESCE(SUM(CRC32(l)), 0), COALESCE(BIT_XOR(CAST(CONV(SUBSTR(MD5(l), 1, 16), "+
		"16, 10) AS UNSIGNED)), 0) FROM (SELECT %s AS l FROM %s%s) AS d", line, name, where)
}

// Digest is what a table holds.
type Digest struct{ Rows, Sum, Xor string }

// Range is a part of a table: From <= key < To. An empty bound is none.
type Range struct{ From, To string }

const (
	// chunkRows is about how many rows a part of a table has.
	chunkRows = 100_000
	maxChunks = 10_000
)

// ranges divides a table whose key goes from one number to another. They cover every key there is, also those outside
// of these two.
func ranges(low, high, rows int64) []Range {
	span := uint64(high) - uint64(low)                        //nolint:gosec // the difference of two's complements
	n := min(uint64(max(rows, 0))/chunkRows, maxChunks, span) //nolint:gosec // not negative
	if high <= low || n < 2 {
		return []Range{{}}
	}
	step := span / n
	out := make([]Range, 0, n)
	from := ""
	for i := uint64(1); i < n; i++ {
		to := fmt.Sprint(low + int64(i*step)) //nolint:gosec // within the span
		out = append(out, Range{from, to})
		from = to
	}
	return append(out, Range{from, ""})
}

// condition is the WHERE clause of a range.
func (r Range) condition(key string) string {
	var parts []string
	if r.From != "" {
		parts = append(parts, ident(key)+" >= "+r.From)
	}
	if r.To != "" {
		parts = append(parts, ident(key)+" < "+r.To)
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

// divisible reports whether a table can be read in ranges.
func (t Table) divisible() bool {
	if len(t.Key) == 0 {
		return false
	}
	for _, c := range t.Columns {
		if c.Name == t.Key[0] {
			return strings.HasSuffix(c.Type, "int") && (c.Type != "bigint" || !strings.Contains(c.Full, "unsigned"))
		}
	}
	return false
}
