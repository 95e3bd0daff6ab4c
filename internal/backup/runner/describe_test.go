package runner

import (
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestDescribe: a backup counts as one that can be imported if its manifest and all its parts are there. Nothing is
// changed.
func TestDescribe(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	const dir = "demo/shop/u1"
	own := manifest.Manifest{Namespace: "demo", Cluster: "shop", ClusterUID: "u1-2", Keys: map[string]string{"1": "aa"}}
	another := own
	another.ClusterUID = "u2-2"
	writeOf(t, bucket, path.Join(dir, "whole"), "whole", own)
	writeOf(t, bucket, path.Join(dir, "cut"), "cut", own)
	writeOf(t, bucket, path.Join(dir, "moved"), "whole", own)
	writeOf(t, bucket, path.Join(dir, "another"), "another", another)
	for _, of := range []string{"whole", "moved", "another"} {
		if err := store.Write(t.Context(), bucket, path.Join(dir, of, "part-000000"), nil); err != nil {
			t.Fatal(err)
		}
	}
	before := keys(t, bucket)
	for id, reason := range map[string]string{"whole": "", "cut": task.ReasonBackupDamaged,
		"moved":   task.ReasonBackupDamaged,
		"another": task.ReasonBackupMisplaced,
		"none":    task.ReasonBackupNotFound} {
		r, err := describeStored(t.Context(), bucket, task.Describe{Dir: dir, ID: id})
		var f failure
		if reason == "" && (err != nil || r.Backup == nil || r.Backup.ID != id || r.Backup.Dir != dir ||
			!r.Backup.CompletedAt.Equal(now) || r.Backup.Keys["1"] != "aa") {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
		if reason != "" && (!errors.As(err, &f) || f.reason != reason || !f.fatal || r.Backup != nil) {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
	if after := keys(t, bucket); !slices.Equal(before, after) {
		t.Errorf("%v, before %v", after, before)
	}
}

// writeOf writes the manifest of a backup of a cluster.
func writeOf(t *testing.T, bucket *store.Bucket, dir, id string, m manifest.Manifest) {
	t.Helper()
	m.Format, m.ID, m.CompletedAt, m.Compression = manifest.Format, id, now, manifest.CompressionNone
	m.Parts = make([]manifest.Part, 1)
	text, err := json.Marshal(m)
	if err == nil {
		err = store.Write(t.Context(), bucket, path.Join(dir, manifest.Name), text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keys are those of all objects.
func keys(t *testing.T, bucket *store.Bucket) (out []string) {
	t.Helper()
	objects := bucket.List(nil)
	for {
		o, err := objects.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Key)
	}
}
