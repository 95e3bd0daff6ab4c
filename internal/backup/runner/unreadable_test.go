package runner

import (
	"errors"
	"net/http"
	"path"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestUnreadableManifest: an object that the store does not give out, as one that was moved to an archive, keeps no
// other backup from being used. What it is is not known: it may be the latest one, or an increment.
func TestUnreadableManifest(t *testing.T) {
	of := memblob.OpenBucket(nil)
	defer func() { _ = of.Close() }()
	for _, id := range []string{"b1", "b2", "b3"} {
		backupIn(t, of, "a", id, "7-1-3")
	}
	key := path.Join(archiveOf, "b1", manifest.Name)
	bucket := judged(t, of, func(r *http.Request, _ []byte, exists bool) (int, string) {
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, key):
			return http.StatusForbidden, "InvalidObjectState"
		case r.Header.Get("If-None-Match") == "*" && exists:
			return http.StatusPreconditionFailed, "PreconditionFailed"
		}
		return 0, ""
	})
	defer func() { _ = bucket.Close() }()
	refused := func(name string, err error) {
		var why failure
		if !errors.As(err, &why) || why.reason != task.ReasonStoreRefused || !why.fatal ||
			!strings.Contains(err.Error(), key+": InvalidObjectState") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r, err := check(t.Context(), bucket, task.Check{})
	if err != nil || r.Checked.Backups != 2 || !strings.HasPrefix(r.Checked.Unread, key+": InvalidObjectState") {
		t.Errorf("the check of the store: %+v, %v", r.Checked, err)
	}
	for _, dir := range []string{archiveOf, path.Dir(archiveOf)} {
		if base, _, err := locate(t.Context(), bucket, task.Find{Dir: dir, ID: "b2"}); err != nil ||
			base != path.Join(archiveOf, "b2") {
			t.Errorf("one that is named, below %s: %s, %v", dir, base, err)
		}
	}
	_, _, err = locate(t.Context(), bucket, task.Find{Dir: archiveOf})
	refused("the latest", err)
	refused("the removal of what it may add to", remove(t.Context(), bucket, archiveOf, "b2"))
	if err := bucket.Delete(t.Context(), path.Join(archiveOf, "b3", manifest.Name)); err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.ReadAll(t.Context(), path.Join(archiveOf, "b2", manifest.Name)); err != nil {
		t.Errorf("it was removed: %v", err)
	}
	refused("the removal of itself", remove(t.Context(), bucket, archiveOf, "b1"))
	refused("the removal where another one is known", remove(t.Context(), bucket, archiveOf, "b2", "b0", "b3"))
	if err := remove(t.Context(), bucket, archiveOf, "b2", "b0", "b1"); err != nil {
		t.Errorf("the removal of what it is known not to add to: %v", err)
	}
	if _, err := bucket.ReadAll(t.Context(), path.Join(archiveOf, "b2", manifest.Name)); !store.Missing(err) {
		t.Errorf("it was not removed: %v", err)
	}
}

// TestKnownOthersAreStillRead: an increment whose manifest can be read keeps its base, whatever was said of it.
func TestKnownOthersAreStillRead(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	chained(t, bucket, 1)
	if reason, _ := explain(remove(t.Context(), bucket, chainDir, "b0", "b1")); reason != task.ReasonBackupNeeded {
		t.Error(reason)
	}
}

// TestNamedBackupAlone: where a backup is named with its directory, no other one is read.
func TestNamedBackupAlone(t *testing.T) {
	of := memblob.OpenBucket(nil)
	defer func() { _ = of.Close() }()
	for _, id := range []string{"b1", "b2", "b3"} {
		backupIn(t, of, "a", id, "7-1-3")
	}
	bucket, count := refusing(t, of, 0)
	defer func() { _ = bucket.Close() }()
	if base, _, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: "b2"}); err != nil ||
		base != path.Join(archiveOf, "b2") || count.Load() != 1 {
		t.Errorf("%s with %d requests, %v", base, count.Load(), err)
	}
	_, _, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: "b9"})
	if reason, final := explain(err); reason != task.ReasonBackupNotFound || !final {
		t.Error(err)
	}
}

// TestStandsBreaksOff: a store that breaks off in the manifest of a backup that is complete is asked again.
func TestStandsBreaksOff(t *testing.T) {
	f := storetest.NewFake(t, nil)
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	backupIn(t, bucket, "a", "b1", "7-1-3")
	f.BreakOff(path.Join(archiveOf, "b1", manifest.Name), 9)
	if why, err := stands(t.Context(), bucket, path.Join(archiveOf, "b1")); why != "" || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}
