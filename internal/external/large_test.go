package external

import (
	"database/sql"
	"strings"
	"testing"
)

// TestMaxRow: the limit that a refusal names is enough for the row, and hardly more than that.
func TestMaxRow(t *testing.T) {
	for _, connections := range []int{1, 2, 16} {
		for _, limit := range []int64{512 << 20, 1 << 30, 8 << 30} {
			row := MaxRow(int64(float64(limit)*goShare), connections)
			if enough := enoughFor(row, connections); enough > limit+1<<10 || enough < limit-1<<10 {
				t.Errorf("%d connections with %d MiB: rows of %d MiB, which need %d MiB", connections, limit>>20, row>>20,
					enough>>20)
			}
		}
	}
	if row := MaxRow(1<<30/10*9, 1) >> 20; row < 145 || row > 160 { // as the API's comment describes it
		t.Errorf("with 1Gi: %d MiB", row)
	}
	if row := MaxRow(32<<20, 16); row != 1<<20 {
		t.Errorf("with next to nothing: %d", row)
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
