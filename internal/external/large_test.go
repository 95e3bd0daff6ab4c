package external

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"
)

// TestBounds: rows that may be in memory at the same time fit. The limit that a refusal names is enough for the row,
// and hardly more than that.
func TestBounds(t *testing.T) {
	for _, connections := range []int64{1, 2, 4, 16} {
		for _, m := range []Memory{{Limit: 512 << 20}, {Limit: 1 << 30}, {Limit: 1 << 30, Shared: true, Pool: 128 << 20},
			{Limit: 1 << 30, Shared: true, Pool: 650 << 20}, {Limit: 3 << 30, Shared: true, Pool: 32 << 20},
			{Limit: 8 << 30, Shared: true, Pool: 128 << 20}, {Limit: 8 << 30, Shared: true, Pool: 5 << 30},
			{Limit: 64 << 30, Shared: true, Pool: 40 << 30},
			{Limit: 1 << 30, Shared: true, FromSource: true, Pool: 128 << 20},
			{Limit: 8 << 30, Shared: true, FromSource: true, Pool: 5 << 30}} {
			r := budget{Memory: m, connections: connections, pool: m.BufferPool(int(connections))}
			each, waiting := r.bounds()
			if all := max(leastRow, r.rows()) + (connections-1)*leastRow; waiting+(connections-1)*each > all || waiting < each {
				t.Errorf("%+v: rows of %d MiB, and others of %d MiB, take more than %d MiB", r, waiting>>20, each>>20, all>>20)
			}
			for _, more := range []int64{1, 1 << 20, 100 << 20} {
				enough := r
				enough.Limit = r.enoughFor(waiting+more) + 1<<10
				enough.pool = enough.BufferPool(int(connections))
				if _, most := enough.bounds(); most < waiting+more || most > waiting+more+1<<20 && waiting > leastRow {
					t.Errorf("%+v: for %d bytes a limit of %d MiB is named, which is enough for %d", r, waiting+more,
						enough.Limit>>20, most)
				}
			}
		}
	}
	for r, want := range map[budget][2]int64{
		{connections: 4}: {0, 0},
		{Memory: Memory{Limit: 32 << 20}, connections: 16}: {1, 1},
		// as docs/migration.md and the API's comment have it
		{Memory: Memory{Limit: 1 << 30}, connections: 1}:  {154, 154},
		{Memory: Memory{Limit: 1 << 30}, connections: 16}: {2, 101},
		shared(1<<30, 128<<20, 4):                         {2, 30},
		shared(1<<30, 650<<20, 4):                         {2, 28},
		shared(1<<29, 128<<20, 4):                         {1, 8},
		shared(1<<29, 128<<20, 1):                         {13, 13},
		shared(8<<30, 5<<30, 4):                           {16, 208},
		// as docs/backups.md has it
		sourced(1<<29, 128<<20): {23, 23},
		sourced(1<<30, 128<<20): {69, 69},
		sourced(8<<30, 5<<30):   {512, 512},
	} {
		if each, waiting := r.bounds(); each>>20 != want[0] || waiting>>20 != want[1] {
			t.Errorf("%+v: rows of %d MiB, and of %d MiB that wait", r, each>>20, waiting>>20)
		}
	}
}

func sourced(limit, pool int64) budget {
	r := budget{Memory: Memory{Limit: limit, Shared: true, FromSource: true, Pool: pool}, connections: 1}
	r.pool = r.BufferPool(1)
	return r
}

func shared(limit, pool, connections int64) budget {
	r := budget{Memory: Memory{Limit: limit, Shared: true, Pool: pool}, connections: connections}
	r.pool = r.BufferPool(int(connections))
	return r
}

// TestBufferPool: rows get most of the memory that is free, as far as they need it. No pool is larger than configured.
func TestBufferPool(t *testing.T) {
	const mib, gib = int64(1) << 20, int64(1) << 30
	for of, want := range map[Memory]int64{
		{Pool: 5 * gib}: 5 * gib,
		{Limit: gib / 2, Shared: true, Pool: 128 * mib}: 64 * mib,
		{Limit: gib / 2, Shared: true, Pool: 32 * mib}:  32 * mib,
		{Limit: gib / 4, Shared: true, Pool: 128 * mib}: 64 * mib,
		{Limit: gib, Shared: true, Pool: 128 * mib}:     128 * mib,
		{Limit: gib, Shared: true, Pool: 650 * mib}:     162 * mib,
		{Limit: 8 * gib, Shared: true, Pool: 5 * gib}:   3516 * mib,
		{Limit: 64 * gib, Shared: true, Pool: 40 * gib}: 40 * gib,
		{Limit: gib, Shared: true}:                      0,
	} {
		if have := of.BufferPool(4); have>>20 != want>>20 {
			t.Errorf("%+v: %d MiB, want %d", of, have>>20, want>>20)
		}
	}
}

// TestSelection: a row that is too large is sent without its large values, and all others with them.
func TestSelection(t *testing.T) {
	columns := []Column{{Name: "id", Type: "int"}, {Name: "a", Type: "longblob"},
		{Name: "b`", Type: "longtext", Collation: "latin1_swedish_ci"},
		{Name: "c", Type: "mediumtext", Collation: "utf8mb4_bin"}, {Name: "f", Type: "float"}, {Name: "d", Type: "text"}}
	size := "COALESCE(OCTET_LENGTH(`a`), 0) + COALESCE(OCTET_LENGTH(CONVERT(`b``` USING utf8mb4)), 0) + " +
		"COALESCE(OCTET_LENGTH(`c`), 0)"
	want := "`id`; IF(" + size + " > 77, NULL, `a`); IF(" + size + " > 77, NULL, `b```); IF(" + size +
		" > 77, NULL, `c`); CAST(`f` AS DOUBLE); `d`; " + size
	if got, sized := selection(columns, 77); strings.Join(got, "; ") != want || !sized {
		t.Errorf("%s, %t, want\n%s", strings.Join(got, "; "), sized, want)
	}
	for bound, of := range map[int64][]Column{0: columns, 77: append(columns[:1:1], columns[4:]...)} {
		got, sized := selection(of, bound)
		if sized || len(got) != len(of) || strings.Contains(strings.Join(got, ""), "IF(") {
			t.Errorf("%d: %v, %t", bound, got, sized)
		}
	}
}

// TestSelectionOfTexts: the size of many texts is evaluated once, and once more for each value that may be larger.
func TestSelectionOfTexts(t *testing.T) {
	columns := append(texts(200), Column{Name: "long", Type: "longtext", Collation: "utf8mb4_bin"})
	got, sized := selection(columns, 77)
	if n := strings.Count(strings.Join(got, ";"), "OCTET_LENGTH"); n != 2*len(columns) || !sized {
		t.Errorf("%d lengths of %d columns, %t", n, len(columns), sized)
	}
	if !strings.HasPrefix(got[200], "IF(") || got[0] != "`0`" {
		t.Errorf("%s and %.40s", got[0], got[200])
	}
}

func texts(n int) (out []Column) {
	for i := range n {
		out = append(out, Column{Name: strconv.Itoa(i), Type: [...]string{"text", "blob"}[i%2], Collation: "utf8mb4_bin"})
	}
	return out
}

// TestLarge: texts of 64 KiB count where many are in a row, and so do shapes, but for a point.
func TestLarge(t *testing.T) {
	for name, c := range map[string]struct {
		columns []Column
		want    int
	}{
		"none":       {nil, 0},
		"some texts": {texts(15), 0},
		"many":       {append(texts(16), Column{Type: "varchar"}), 16},
		"and a long": {append(texts(16), Column{Type: "longtext"}), 17},
		"shapes":     {[]Column{{Type: "geometry"}, {Type: "point"}, {Type: "multipolygon"}}, 2},
	} {
		if have := large(c.columns); len(have) != c.want {
			t.Errorf("%s: %v", name, have)
		}
	}
}

// TestLiteralsLength: the text of a large row is as long as was foreseen, so that it is in memory once.
func TestLiteralsLength(t *testing.T) {
	odd := make([]byte, 2*insertBytes)
	for i := range odd {
		odd[i] = byte(i)
	}
	kinds := []kind{kindNumber, kindBytes, kindText, kindText, kindBytes, kindText}
	values := []sql.RawBytes{sql.RawBytes("-17"), odd, odd, []byte(strings.Repeat("'", insertBytes)), nil, []byte("'x'")}
	n := 0
	for i, v := range values {
		n += len(appendValue(nil, kinds[i], v)) + 1
	}
	if foreseen := literalsLength(kinds, values); foreseen < n+1 || foreseen > n+4*len(values) {
		t.Errorf("%d bytes were foreseen, and there are %d", foreseen, n)
	}
}

// TestSizedQuery: a row is read once, with those that wait for nothing, or with those that wait.
func TestSizedQuery(t *testing.T) {
	p := part{table: Table{Object: Object{Database: "shop", Name: "t"}, Key: []string{"id"},
		Columns: []Column{{Name: "id", Type: "int"}, {Name: "a", Type: "longblob"}}}, Range: Range{"3", "9"}}
	whole := part{table: p.table}
	whole.table.Key = nil
	const size = "COALESCE(OCTET_LENGTH(`a`), 0)"
	for want, c := range map[string]struct {
		of part
		sized
	}{
		"SELECT `id`, `a` FROM `shop`.`t` FORCE INDEX (PRIMARY) WHERE `id` >= 3 AND `id` < 9 ORDER BY `id`": {p, sized{}},
		"SELECT `id`, IF(" + size + " > 5, NULL, `a`), " + size + " FROM `shop`.`t`":                        {whole, sized{upTo: 5}},
		"SELECT `id`, IF(" + size + " > 8, NULL, `a`), " + size + " FROM `shop`.`t` WHERE " + size + " > 5": {whole, sized{5, 8}},
		"SELECT `id`, IF(" + size + " > 8, NULL, `a`), " + size + " FROM `shop`.`t` FORCE INDEX (PRIMARY) " +
			"WHERE `id` >= 3 AND `id` < 9 AND " + size + " > 5 ORDER BY `id`": {p, sized{5, 8}},
	} {
		if got, withSize := c.of.query(c.of.table.copied(), c.sized); got != want || withSize != (c.upTo > 0) {
			t.Errorf("%+v: %s, want\n%s", c.sized, got, want)
		}
	}
}
