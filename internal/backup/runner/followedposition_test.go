package runner

import (
	"io"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/external"
)

// TestStartOf: a server is followed only from a position of all its domains, as they were where the backup was made.
// One of another server is left out where this one has ended with it as the backup has.
func TestStartOf(t *testing.T) {
	const unknown = "?" // the place in the binary log
	for _, c := range []struct{ position, live, at, applied, start, says string }{
		{"0-1-7", "0-1-7", unknown, "", "0-1-7", ""},
		{"0-1-7", "0-1-9", unknown, "", "0-1-7", ""},
		{"0-1-7", "0-1-9", "0-1-7", "", "0-1-7", ""},
		{"0-1-7", "0-1-9", "", "", "0-1-7", ""},      // the beginning of a file that names none
		{"0-1-7", "0-2-9", unknown, "", "0-1-7", ""}, // another server may write in the domain
		{"0-1-7,5-9-3", "5-9-3,0-1-9", "5-9-3,0-1-7", "", "0-1-7,5-9-3", ""},
		{"0-1-7,5-9-3", "5-9-3,0-1-9", "0-1-7", "", "0-1-7,5-9-3", ""}, // the domain was begun later
		{"10-1-7,5-9-3", "5-9-4, 10-1-9", unknown, "", "10-1-7,5-9-3", ""},
		{"0-1-7", "0-1-9", "0-1-8", "", "", "its position is 0-1-7, and where it was made the binary log of the server old " +
			"is at 0-1-8"},
		{"0-1-7", "0-1-9", "0-2-7", "", "", "is at 0-2-7"},
		{"0-1-7,5-9-3", "5-9-3,0-1-9", "5-9-2,0-1-7", "", "", "is at 5-9-2,0-1-7"},
		{"0-1-7", "0-1-9,5-9-3", unknown, "", "", "position 0-1-7 has nothing of the domains 5, in which the server old " +
			"has written"},
		{"1-1-500", "1-1-501,11-1-9", unknown, "", "", "nothing of the domains 11,"},
		{"0-1-7,1-1-500", "0-1-9", unknown, "1-1-500", "", "has the domains 1, in which the server old has written nothing " +
			`(its gtid_binlog_pos is "0-1-9", its gtid_slave_pos "1-1-500"): name the server that was backed up`},
		{"0-1-7,1-1-500", "0-1-9", "0-1-7", "1-1-500", "0-1-7", ""}, // of a server that this one was made from
		{"2-1-7,1-1-500,3-1-4", "3-1-9,2-1-9", "2-1-7", "1-1-500", "2-1-7,3-1-4", ""},
		{"0-1-7,1-1-500", "0-1-9", "0-1-7", "1-1-501", "", "has the domains 1,"}, // it has gone on
		{"0-1-7,1-1-500", "0-1-9", "0-1-7", "", "", "has the domains 1,"},
		{"0-1-7,1-1-500", "0-1-9", "", "1-1-500", "", "has the domains 1,"},
		{"0-1-7,1-1-500,2-1-4", "0-1-9", "0-1-7", "1-1-500,2-1-5", "", "has the domains 1, 2,"},
		{"1-1-500", "0-1-9", unknown, "", "", "nothing of the domains 0,"},
		{"0-1-7", "", unknown, "", "", "name the server that was backed up"},
		{"0-1-7,x", "0-1-7", unknown, "", "", "cannot be read"},
		{"0-1-7", "y", unknown, "", "", "cannot be read"},
		{"0-1-7", "0-1-7", "z", "", "", "cannot be read"},
	} {
		f := followed{Live: c.live, Applied: c.applied}
		if c.at != unknown {
			f.At = &c.at
		}
		start, err := startOf(c.position, "old", f)
		if (err == nil) != (c.says == "") || start != c.start || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, live %q, at %q: %q, %v", c.position, c.live, c.at, start, err)
			continue
		}
		if err == nil {
			continue
		}
		if reason, final := explain(err); reason != task.ReasonImportRefused || !final {
			t.Errorf("%q: %s, %t", c.position, reason, final)
		}
	}
	for _, position := range []string{"0-1-7", "0-1-7,1-1-500"} { // the first one may be another than that of its files
		_, err := startOf(position, "old", followed{Live: "0-1-9", Unasked: io.ErrUnexpectedEOF})
		if reason, final := explain(err); reason != task.ReasonSourceUnreachable || final {
			t.Errorf("%s could not be asked about: %s, %t: %v", position, reason, final, err)
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
