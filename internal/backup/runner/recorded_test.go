package runner

import (
	"path"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestRemoveRecorded: what was imported is removed if it is still what was imported.
func TestRemoveRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		checksum func(of string) string
		goes     bool
	}{
		"on record":        {func(of string) string { return of }, true},
		"of its own":       {func(string) string { return "" }, true},
		"another manifest": {func(string) string { return manifest.Checksum([]byte("x")) }, false},
	} {
		bucket := memblob.OpenBucket(nil)
		checksum := rewrite(t, bucket, chained(t, bucket, 0)[0])
		remove := task.Remove{Dir: chainDir, ID: "b0", Checksum: c.checksum(checksum)}
		err := removeRecorded(t.Context(), bucket, remove)
		left := keys(t, bucket)
		if reason, final := explain(err); c.goes && (err != nil || len(left) != 0) ||
			!c.goes && (reason != task.ReasonBackupDamaged || !final || len(left) != 1) {
			t.Errorf("%s: %v, left: %v", name, err, left)
		}
		_ = bucket.Close()
	}
	bucket := memblob.OpenBucket(nil) // a removal that was killed
	defer func() { _ = bucket.Close() }()
	if err := bucket.WriteAll(t.Context(), path.Join(chainDir, "b0", manifest.PartName(0)), []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	err := removeRecorded(t.Context(), bucket, task.Remove{Dir: chainDir, ID: "b0", Checksum: strings.Repeat("0", 64)})
	if err != nil || len(keys(t, bucket)) != 0 {
		t.Errorf("%v, left: %v", err, keys(t, bucket))
	}
}
