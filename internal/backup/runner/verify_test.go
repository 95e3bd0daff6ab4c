package runner

import "testing"

// TestGood: the lines of CHECK TABLE, as MariaDB 11.8 writes them.
func TestGood(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		want       bool
	}{
		{"status", "OK", true},
		{"status", "Table is already up to date", true},
		{"note", "The storage engine for the table doesn't support check", true},
		{"warning", "1 client is using or hasn't closed the table properly", true},
		{"error", "Corrupt", false},
		{"Error", "Table 'a.b' doesn't exist in engine", false},
		{"status", "Operation failed", false},
	} {
		if good(c.kind, c.text) != c.want {
			t.Errorf("%s %s", c.kind, c.text)
		}
	}
}
