package screen

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestSource: every finding is shown with some of its objects, and nothing that a server reports controls a terminal.
func TestSource(t *testing.T) {
	s := Style{Width: 80, Now: now}
	good := s.Source("db:3306", task.Source{Version: "10.11.6-MariaDB", GTID: "3-7-9", Tables: 2, Bytes: 1<<20 + 1})
	if good != "db:3306: 10.11.6-MariaDB, 2 tables, about 2 MiB, at the GTID 3-7-9\n✓ it can be copied\n" {
		t.Errorf("%q", good)
	}
	bad := s.Source("db:3306", task.Source{Version: "10.11\x1b[2J", Findings: []task.Finding{
		{Name: "PrimaryKeyMissing", Objects: []string{"shop.\x1b[2Ja", "shop.b"}, Count: 9,
			Message: "Galera needs a primary key: ALTER TABLE … ADD PRIMARY KEY on the source"},
		{Name: "VersionUnsupported", Message: "the source is of a later series"}}})
	want := `db:3306: 10.11[2J, 0 tables, about 0 MiB

✗ PrimaryKeyMissing  shop.[2Ja, shop.b and 7 more: Galera needs a primary key:
                     ALTER TABLE … ADD PRIMARY KEY on the source

✗ VersionUnsupported  the source is of a later series
`
	warned := s.Source("db:3306", task.Source{Version: "10.11.6-MariaDB", Warnings: []task.Finding{{Name: "DefinerMissing",
		Objects: []string{"gone@nowhere"}, Count: 1, Message: "create the account"}}})
	if !strings.HasSuffix(warned, "\n\n! DefinerMissing  gone@nowhere: create the account\n✓ it can be copied\n") {
		t.Errorf("%q", warned)
	}
	if bad != want || strings.Contains(bad, "can be copied") {
		t.Errorf("%s", bad)
	}
}
