package runner

import (
	"errors"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestLastHeld: a backup holds what was made with sql_log_bin=0 right before it. The positions are those that MariaDB
// 10.11 and 11.8 print for a prepared copy.
func TestLastHeld(t *testing.T) {
	const history = "aa5202f3-ea36-11f1-9250-ea182ee4fe9d:"
	for name, c := range map[string]struct{ base, start, want string }{
		"the last one was logged":              {"0-1-3", history + "4,0-1-3", "0-1-3"},
		"a statement was not logged":           {"0-1-3", history + "5,0-1-4", "0-1-4"},
		"two were not logged":                  {"0-1-7", history + "10,0-1-9", "0-1-9"},
		"InnoDB has no number":                 {"0-1-7", history + "10,0-0-0", "0-1-7"},
		"there is no number":                   {"0-1-7", history + "10", "0-1-7"},
		"InnoDB is behind":                     {"0-1-7", history + "10,0-1-6", "0-1-7"},
		"it is one of another domain":          {"0-1-7", history + "10,5-1-9", "0-1-7"},
		"it is one of another server's series": {"0-1-7", history + "10,0-2-9", "0-1-7"},
	} {
		base, err := binlog.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		if have := lastHeld(base, c.start); have.String() != c.want {
			t.Errorf("%s: %s", name, have)
		}
	}
}

// TestReadBase: a copy is a base only at the position that its manifest names.
func TestReadBase(t *testing.T) {
	for _, c := range []struct {
		info, manifest string
		good           bool
	}{
		{"0-1-5", "0-1-5", true},
		{"0-1-5,3-1-9", "0-1-5", true},
		{"0-1-5", "0-1-6", false},
		{"0-1-5", "0-2-5", false},
		{"", "0-1-5", false},
		{"", "", false},
	} {
		base, err := readBase(manifest.Manifest{GTID: c.manifest}, c.info, 0)
		var why failure
		if c.good && (err != nil || base.String() != "0-1-5") ||
			!c.good && (!errors.As(err, &why) || why.reason != task.ReasonBackupDamaged || !why.fatal) {
			t.Errorf("the copy at %q, the manifest at %q: %s, %v", c.info, c.manifest, base, err)
		}
	}
}
