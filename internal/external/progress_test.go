package external

import (
	"testing"
	"time"
)

// TestProgress: an estimate is given only where there is one.
func TestProgress(t *testing.T) {
	for name, c := range map[string]struct {
		p    Progress
		want string
	}{
		"nothing yet": {Progress{Tables: 3, ExpectedRows: 100}, "copied 0 of about 100 rows"},
		"a quarter": {Progress{Tables: 3, Rows: 25, ExpectedRows: 100},
			"copied 25 of about 100 rows (25 %), at this rate the rest takes 3m0s; all tables are compared then"},
		"more than the source has estimated": {Progress{Tables: 3, Rows: 120, ExpectedRows: 100},
			"copied 120 of about 100 rows"},
		"an empty source": {Progress{}, "copied 0 of about 0 rows"},
		"tables are compared": {Progress{Tables: 3, Rows: 90, ExpectedRows: 100, Compared: 1},
			"copied 90 rows; compared 1 of 3 tables"},
	} {
		if got := c.p.Describe(time.Minute); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
