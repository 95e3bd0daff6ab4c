package external

import (
	"database/sql"
	"strings"
	"testing"
)

// TestBounds: rows that may be in memory at the same time fit. The limit that a refusal names is enough for the row,
// and hardly more than that.
func TestBounds(t *testing.T) {
	for _, connections := range []int64{1, 2, 4, 16} {
		for _, m := range []Memory{{Limit: 512 << 20}, {Limit: 1 << 30}, {Limit: 1 << 30, Shared: true},
			{Limit: 8 << 30, Shared: true}} {
			r := budget{Memory: m, connections: connections, pool: 128 << 20}
			each, waiting := r.bounds()
			if all := max(leastRow, r.rows()) + (connections-1)*leastRow; waiting+(connections-1)*each > all || waiting < each {
				t.Errorf("%+v: rows of %d MiB, and others of %d MiB, take more than %d MiB", r, waiting>>20, each>>20, all>>20)
			}
			for _, more := range []int64{1, 1 << 20, 100 << 20} {
				enough := r
				enough.Limit = r.enoughFor(waiting+more) + 1<<10
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
		{Memory: Memory{Limit: 1 << 30}, connections: 1}:                                {154, 154},
		{Memory: Memory{Limit: 1 << 30}, connections: 16}:                               {2, 101},
		{Memory: Memory{Limit: 1 << 30, Shared: true}, connections: 4, pool: 128 << 20}: {2, 30},
		{Memory: Memory{Limit: 1 << 29, Shared: true}, connections: 4, pool: 128 << 20}: {1, 4},
		{Memory: Memory{Limit: 1 << 29, Shared: true}, connections: 1, pool: 128 << 20}: {9, 9},
	} {
		if each, waiting := r.bounds(); each>>20 != want[0] || waiting>>20 != want[1] {
			t.Errorf("%+v: rows of %d MiB, and of %d MiB that wait", r, each>>20, waiting>>20)
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
		if got, withSize := c.of.query(c.of.table.stored(), c.sized); got != want || withSize != (c.upTo > 0) {
			t.Errorf("%+v: %s, want\n%s", c.sized, got, want)
		}
	}
}
