package runner

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestRefusePosition: a server is followed only from a position of all its domains, and of no other server's.
func TestRefusePosition(t *testing.T) {
	for _, c := range []struct{ position, live, says string }{
		{"0-1-7", "0-1-7", ""},
		{"0-1-7", "0-1-9", ""},
		{"0-1-7", "0-2-9", ""}, // another server may write in the domain
		{"0-1-7,5-9-3", "5-9-3,0-1-9", ""},
		{"10-1-7,5-9-3", "5-9-4, 10-1-9", ""},
		{"0-1-7", "0-1-9,5-9-3", "position 0-1-7 has nothing of the domains 5, in which the server old has written"},
		{"1-1-500", "1-1-501,11-1-9", "nothing of the domains 11,"},
		{"0-1-7,1-1-500", "0-1-9", "has the domains 1, in which the server old has written nothing (its gtid_binlog_pos " +
			`is "0-1-9"): name the server that was backed up`},
		{"1-1-500", "0-1-9", "nothing of the domains 0,"},
		{"0-1-7", "", "name the server that was backed up"},
		{"0-1-7,x", "0-1-7", "cannot be read"},
		{"0-1-7", "y", "cannot be read"},
	} {
		err := refusePosition(c.position, task.External{Host: "old", Live: c.live})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, live %q: %v", c.position, c.live, err)
			continue
		}
		if err == nil {
			continue
		}
		if reason, final := explain(err); reason != task.ReasonImportRefused || !final {
			t.Errorf("%q: %s, %t", c.position, reason, final)
		}
	}
}

// TestWanted: a backup's server is compared with the cluster's settings.
func TestWanted(t *testing.T) {
	settings := map[string]string{"loose-lower-case-table-names": "1"}
	for _, c := range []struct {
		t    task.External
		want external.Wanted
	}{
		{task.External{Backup: "b", Settings: settings}, external.Wanted{Version: "v", Files: true, LowerCase: 1}},
		{task.External{Backup: "b"}, external.Wanted{Version: "v", Files: true}},
		{task.External{VolumeBytes: 7}, external.Wanted{Version: "v", VolumeBytes: 7}},
	} {
		if got := wanted(c.t, "v"); got != c.want {
			t.Errorf("%+v: %+v", c.t, got)
		}
	}
}

// TestOfFollowing: the history of tables comes along in a backup. It keeps the server from being copied by statements
// only.
func TestOfFollowing(t *testing.T) {
	got := ofFollowing([]task.Finding{{Name: external.TableVersioned}, {Name: external.BinaryLogFormat},
		{Name: external.DefinitionHidden}, {Name: external.SequenceNotSupported}})
	if len(got) != 2 || got[0].Name != external.BinaryLogFormat || got[1].Name != external.SequenceNotSupported {
		t.Errorf("%+v", got)
	}
}
