package runner

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// refusedRemoval fails unless a removal was refused, and left the backup b0 as it was.
func refusedRemoval(t *testing.T, bucket *store.Bucket, err error) {
	t.Helper()
	if reason, final := explain(err); reason != task.ReasonBackupNeeded || final {
		t.Errorf("%v", err)
	}
	for key, want := range map[string]bool{manifest.Name: true, removing: false} {
		if there, err := store.Exists(t.Context(), bucket, path.Join(chainDir, "b0", key)); there != want || err != nil {
			t.Errorf("%s: %v, %v", key, there, err)
		}
	}
	m, text, err := readManifest(t.Context(), bucket, path.Join(chainDir, "b1"))
	if err == nil {
		_, err = chain(t.Context(), bucket, chainDir, m)
	}
	if err != nil {
		t.Errorf("the increment is lost: %v %s", err, text)
	}
}

// TestRemovalMeetsAnIncrement: an increment that becomes complete while its base is removed keeps it.
func TestRemovalMeetsAnIncrement(t *testing.T) {
	for _, at := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} { // of the base's manifest
		var f *storetest.Fake
		var increment []byte
		f = storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
			if of := path.Base(r.URL.Path); increment != nil && r.Method == at && strings.Contains(r.URL.Path, "/b0/") &&
				(of == manifest.Name || of == removing) {
				f.Put(path.Join(chainDir, "b1", manifest.Name), increment)
			}
			return 0, ""
		})
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		all := chained(t, bucket, 1)
		if err := bucket.Delete(t.Context(), path.Join(chainDir, "b1", manifest.Name)); err != nil {
			t.Fatal(err)
		}
		if increment, err = json.Marshal(all[1]); err != nil {
			t.Fatal(err)
		}
		refusedRemoval(t, bucket, remove(t.Context(), bucket, chainDir, "b0"))
		_ = bucket.Close()
	}
}

// TestKilledRemoval: a removal that was killed between its steps goes on, or puts back what is needed.
func TestKilledRemoval(t *testing.T) {
	for _, meets := range []bool{true, false} {
		bucket := memblob.OpenBucket(nil)
		chained(t, bucket, 1)
		base := path.Join(chainDir, "b0")
		text, err := bucket.ReadAll(t.Context(), path.Join(base, manifest.Name))
		if err == nil {
			err = store.Write(t.Context(), bucket, path.Join(base, removing), text)
		}
		if err == nil {
			err = bucket.Delete(t.Context(), path.Join(base, manifest.Name))
		}
		if err == nil && !meets {
			err = bucket.Delete(t.Context(), path.Join(chainDir, "b1", manifest.Name))
		}
		if err != nil {
			t.Fatal(err)
		}
		err = remove(t.Context(), bucket, chainDir, "b0")
		if meets {
			refusedRemoval(t, bucket, err)
		} else if left := keys(t, bucket); err != nil || len(left) != 0 {
			t.Errorf("%v, left: %v", err, left)
		}
		_ = bucket.Close()
	}
}

// TestRemovalFromAFullStore: what makes space needs none.
func TestRemovalFromAFullStore(t *testing.T) {
	full := false
	f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
		if full && r.Method == http.MethodPut {
			return http.StatusForbidden, "QuotaExceeded"
		}
		return 0, ""
	})
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	chained(t, bucket, 0)
	full = true
	if err := remove(t.Context(), bucket, chainDir, "b0"); err != nil || len(keys(t, bucket)) != 0 {
		t.Errorf("%v, left: %v", err, keys(t, bucket))
	}
}

// TestStands: an increment whose base has gone while its manifest was written is no backup.
func TestStands(t *testing.T) {
	for _, whole := range []bool{true, false} {
		bucket := memblob.OpenBucket(nil)
		chained(t, bucket, 1)
		if !whole {
			if err := bucket.Delete(t.Context(), path.Join(chainDir, "b0", manifest.Name)); err != nil {
				t.Fatal(err)
			}
		}
		base := path.Join(chainDir, "b1")
		why, err := stands(t.Context(), bucket, base)
		there, known := store.Exists(t.Context(), bucket, path.Join(base, manifest.Name))
		if err != nil || known != nil || (why == "") != whole || there != whole {
			t.Errorf("whole %v: %q, %v; there: %v, %v", whole, why, err, there, known)
		}
		_ = bucket.Close()
	}
}

// TestRemovesItsOwn: nothing but the backup goes, whatever its name begins with.
func TestRemovesItsOwn(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	chained(t, bucket, 0)
	others := []string{"binlog/through.json", chainDir + "/b/" + manifest.Name, chainDir + "/b00/" + manifest.Name,
		chainDir + "/binlog/through.json", "demo/shop/u2/b0/part-000000"}
	for _, key := range append([]string{chainDir + "/b0/part-000000", chainDir + "/b0/000001abc/part-000000"},
		others...) {
		if err := store.Write(t.Context(), bucket, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := remove(t.Context(), bucket, chainDir, "b0"); err != nil {
		t.Fatal(err)
	}
	if left := keys(t, bucket); !slices.Equal(left, others) {
		t.Errorf("left are %v", left)
	}
}

// TestRemovalIsRefused: a removal whose first steps the store refuses removes nothing, and one whose later steps it
// refuses reports that.
func TestRemovalIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		method, of string
		stays      bool
	}{
		"the copy of the manifest":  {http.MethodPut, removing, true},
		"its manifest":              {http.MethodDelete, manifest.Name, true},
		"the removal of the copy":   {http.MethodDelete, removing, false},
		"the removal of a part":     {http.MethodDelete, "part-000000", false},
		"the reading of a manifest": {http.MethodGet, manifest.Name, true},
	} {
		refuses := false
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
			if refuses && r.Method == c.method && path.Base(r.URL.Path) == c.of {
				return http.StatusForbidden, "AccessDenied"
			}
			return 0, ""
		})
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		chained(t, bucket, 0)
		if err := store.Write(t.Context(), bucket, chainDir+"/b0/part-000000", []byte("x")); err != nil {
			t.Fatal(err)
		}
		refuses = true
		reason, final := explain(remove(t.Context(), bucket, chainDir, "b0"))
		refuses = false
		there, err := store.Exists(t.Context(), bucket, path.Join(chainDir, "b0", manifest.Name))
		if reason != task.ReasonStoreRefused || !final || there != c.stays || err != nil {
			t.Errorf("%s is refused: %s %v, the manifest is there: %v, %v", name, reason, final, there, err)
		}
		_ = bucket.Close()
	}
}

// TestRemovalPutsBack: the manifest that an increment needs is put back where it is gone. One that is there stays as it
// is.
func TestRemovalPutsBack(t *testing.T) {
	for _, there := range []bool{false, true} {
		bucket := memblob.OpenBucket(nil)
		chained(t, bucket, 1)
		base := path.Join(chainDir, "b0")
		want, err := bucket.ReadAll(t.Context(), path.Join(base, manifest.Name))
		copied := want
		switch {
		case err == nil && there: // the copy is one of before
			copied = []byte("another")
		case err == nil:
			err = bucket.Delete(t.Context(), path.Join(base, manifest.Name))
		}
		if err == nil {
			err = store.Write(t.Context(), bucket, path.Join(base, removing), copied)
		}
		if err != nil {
			t.Fatal(err)
		}
		refusedRemoval(t, bucket, free(t.Context(), bucket, chainDir, "b0"))
		if have, err := bucket.ReadAll(t.Context(), path.Join(base, manifest.Name)); err != nil || !bytes.Equal(have, want) {
			t.Errorf("it is there: %v; afterwards it is %s, %v", there, have, err)
		}
		_ = bucket.Close()
	}
}
