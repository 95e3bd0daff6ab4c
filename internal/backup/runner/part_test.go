package runner

import (
	"bytes"
	"path"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// TestAllParts: a part that a listing does not have yet is there; one that is missing, or of another size, is not.
func TestAllParts(t *testing.T) {
	m := manifest.Manifest{ID: "b1", Attempt: "000001abc", Parts: []manifest.Part{{Size: 1}, {Size: 2}}}
	base := path.Join(archiveOf, m.ID)
	for name, c := range map[string]struct {
		last string // the content of the last part, "" for none
		late bool
		want bool
	}{"all": {"xx", false, true}, "listed late": {"xx", true, true}, "a part is missing": {"", false, false},
		"a part is cut off": {"x", false, false}} {
		f := storetest.NewFake(t, nil)
		f.Put(path.Join(base, m.Part(0)), []byte("x"))
		if c.last != "" {
			f.Put(path.Join(base, m.Part(1)), []byte(c.last))
		}
		if c.late {
			f.Late(path.Join(base, m.Part(0)), path.Join(base, m.Part(1)))
		}
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if is, err := allParts(t.Context(), bucket, base, m); is != c.want || err != nil {
			t.Errorf("%s: %t, %v", name, is, err)
		}
	}
}

// TestParts: of an object that is larger than the part it is to be, a byte more is read, and of a manifest no more than
// one may have.
func TestParts(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	if err := bucket.WriteAll(t.Context(), "part", bytes.Repeat([]byte("x"), 1<<20), nil); err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int64]int{100: 101, 1 << 20: 1 << 20, 1 << 21: 1 << 20} {
		if data, err := readPart(t.Context(), bucket, "part", size, nil); err != nil || len(data) != want {
			t.Errorf("a part of %d: %d bytes, %v", size, len(data), err)
		}
		if text, err := store.ReadUpTo(t.Context(), bucket, "part", size); err != nil || len(text) != int(min(size, 1<<20)) {
			t.Errorf("up to %d: %d bytes, %v", size, len(text), err)
		}
	}
}
