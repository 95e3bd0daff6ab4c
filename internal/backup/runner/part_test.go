package runner

import (
	"bytes"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/store"
)

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
