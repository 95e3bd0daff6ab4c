package runner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestEarlier: what was uploaded before the backup was begun, in any time zone, is of another one.
func TestEarlier(t *testing.T) {
	at := func(text string) int64 {
		when, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}
		return when.UnixNano()
	}
	all := []storedFile{{key: "a", modified: at("2026-11-27 03:00:00")}, {key: "b", modified: at("2026-11-28 03:00:00")},
		{key: "c"}, {key: "d", modified: at("2026-11-27 12:00:00")}}
	for _, c := range []struct {
		start, incremental string
		want               []string
	}{
		{"2026-11-28 02:30:00", "N", []string{"a"}},
		{"2026-11-28 02:30:00", "", []string{"a"}},
		{"2026-11-28 02:30:00", "Y", nil},
		{"2026-11-29 02:30:00", "N", []string{"a", "b", "d"}},
		{"2026-11-27 02:30:00", "N", nil},
		{"yesterday", "N", nil},
		{"", "N", nil},
	} {
		info := map[string]string{"start_time": c.start, "incremental": c.incremental}
		if got := uploadedBefore(info, all); !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: %q", c.start, c.incremental, got)
		}
	}
}

// TestRefuseEarlier: a folder with such files is looked at again later.
func TestRefuseEarlier(t *testing.T) {
	for start, says := range map[string]string{"2001-01-01 00:00:00": "", "2999-01-01 00:00:00": "before its backup was " +
		"begun: backup-my.cnf, ib_logfile0, ibdata1, shop/t.ibd, xtrabackup_binlog_info and 2 more. Upload all of one " +
		"backup, also"} {
		bucket := memblob.OpenBucket(nil)
		for name, text := range theirFiles() {
			if name == "xtrabackup_info" {
				text = append(text, "start_time = "+start+"\n"...)
			}
			if err := bucket.WriteAll(t.Context(), "b/"+name, text, nil); err != nil {
				t.Fatal(err)
			}
		}
		size, err := storedBackup{bucket: bucket, path: "b"}.describe(t.Context())
		if reason, final := explain(err); (err == nil) != (says == "") || err == nil && size == 0 || err != nil && (final ||
			reason != task.ReasonBackupDamaged || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %d, %v", start, size, err)
		}
		_ = bucket.Close()
	}
}
