package plan

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestRestartWaitsForBackup: a restart would end the backup that a node gives; the others go first, and the primary
// stays last.
func TestRestartWaitsForBackup(t *testing.T) {
	for name, c := range map[string]struct {
		outdated []int
		backup   int
		next     string // "" for waiting
	}{
		"the one that gives it":              {[]int{2}, 2, ""},
		"another one first":                  {[]int{1, 2}, 2, "db-1"},
		"but not the primary":                {[]int{0, 2}, 2, ""},
		"one that gives none, of all others": {[]int{0, 1, 2}, 1, "db-2"},
	} {
		s := shop()
		for _, i := range c.outdated {
			s.Members[i].Pod.Outdated = true
		}
		s.Members[c.backup].Backup = "b1"
		d := Plan(s)
		begun, begins := d.Action.(Begin)
		switch {
		case c.next == "" && (d.Action != nil || !strings.Contains(d.Message, "gives the backup b1")):
			t.Errorf("%s: %+v", name, d)
		case c.next != "" && (!begins || begun.Operation.Target != c.next):
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestBackupKeepsTheClusterHealthy: a node that is out of step because of a backup leaves the cluster as it should be.
func TestBackupKeepsTheClusterHealthy(t *testing.T) {
	s := shop()
	s.Members[2].Server.State = galera.NodeDonor
	if d := Plan(s); d.Reason == ReasonHealthy {
		t.Error("a donor that gives no backup is reported")
	}
	s.Members[2].Backup = "b1"
	if d := Plan(s); d.Reason != ReasonHealthy {
		t.Errorf("%+v", d)
	}
}
