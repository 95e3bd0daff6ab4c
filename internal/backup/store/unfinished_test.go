package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/fileblob"

	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	backupKey = "demo/shop/a54080f9/20261124-012923-b54080f9/"
	otherKey  = "demo/shop/a54080f9/20261124-012923-c54080f9/"
	binlogKey = "demo/shop/a54080f9/binlog/"
)

// TestUnfinishedUploads: uploads that nothing continues are aborted: this program's own, of this store, and old ones
// only.
func TestUnfinishedUploads(t *testing.T) {
	old, young := time.Now().Add(-9*24*time.Hour), time.Now().Add(-time.Hour)
	for name, c := range map[string]struct {
		key  string
		when time.Time
		dir  string
		gone bool
	}{
		"a part":                      {"shops/" + backupKey + "000001abc/part-000003", old, "", true},
		"a manifest":                  {"shops/" + backupKey + "manifest.json", old, "", true},
		"a segment":                   {"shops/" + binlogKey + "000000001/000000001234", old, "", true},
		"of a check":                  {"shops/.check-abc234-once", old, "", true},
		"one that may be going on":    {"shops/" + backupKey + "000001abc/part-000003", young, "", false},
		"of another program":          {"shops/demo/report.parquet", old, "", false},
		"below a backup's directory":  {"shops/" + backupKey + "notes.txt", old, "", false},
		"of another store":            {"shops2/" + backupKey + "000001abc/part-000003", old, "", false},
		"above the store":             {backupKey + "000001abc/part-000003", old, "", false},
		"of the backup that goes":     {"shops/" + backupKey + "000001abc/part-000003", young, backupKey, true},
		"of another backup than that": {"shops/" + otherKey + "000001abc/part-000003", old, backupKey, false},
	} {
		f := storetest.NewFake(t, nil)
		f.Prefix = "/shops/"
		first := f.Upload("a", old)
		exists, second := f.Upload(c.key, c.when), f.Upload(c.key, c.when)
		b, err := OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(-8 * 24 * time.Hour)
		if c.dir != "" {
			before = time.Now()
		}
		n, err := RemoveUnfinished(t.Context(), b, f.Store, strings.TrimSuffix(c.dir, "/"), before)
		if err != nil || exists() == c.gone || second() == c.gone || !first() || (n == 2) != c.gone {
			t.Errorf("%s: %d, %v, first %v, exists %v", name, n, err, first(), exists())
		}
		_ = b.Close()
	}
}

// TestUnfinishedFiles: so are temporary files of a volume, and what checks have left.
func TestUnfinishedFiles(t *testing.T) {
	dir := t.TempDir()
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	old := time.Now().Add(-9 * 24 * time.Hour)
	for name, c := range map[string]struct {
		key  string
		when time.Time
		gone bool
	}{
		"a part":                  {backupKey + "000001abc/part-000003.187f3a.tmp", old, true},
		"a segment":               {binlogKey + "000000001/000000001234.187f3a.tmp", old, true},
		"of a check":              {".check-abc234", old, true},
		"of a check, unfinished":  {".check-abc234.187f3a.tmp", old, true},
		"a part that is complete": {backupKey + "000001abc/part-000003", old, false},
		"one that is written":     {binlogKey + "000000001/000000001235.187f3a.tmp", time.Now(), false},
		"of another program":      {"demo/report.187f3a.tmp", old, false},
	} {
		file := filepath.Join(dir, c.key)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, c.when, c.when); err != nil {
			t.Fatal(err)
		}
		n, err := RemoveUnfinished(t.Context(), b, task.Store{}, "", time.Now().Add(-8*24*time.Hour))
		_, gone := os.Stat(file)
		if err != nil || os.IsNotExist(gone) != c.gone || (n == 1) != c.gone {
			t.Errorf("%s: %d, %v, %v", name, n, err, gone)
		}
		_ = os.Remove(file)
	}
}

// TestUnfinishedInTime: a search of a volume ends when the time for it has passed: the check of a store must not fail
// because of it.
func TestUnfinishedInTime(t *testing.T) {
	dir := t.TempDir()
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if err := os.WriteFile(filepath.Join(dir, ".check-abc234"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n, err := RemoveUnfinished(ctx, b, task.Store{}, "", time.Now().Add(time.Hour))
	if n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
}
