package runner

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// TestAttempts: an attempt that was given up, and goes on all the same, changes nothing of the backup of the attempt
// after it. Its own counts if it is whole.
func TestAttempts(t *testing.T) {
	const base = "demo/shop/u1/b1"
	for name, c := range map[string]struct {
		earlier bool // the attempt before has written its manifest
		size    int  // of its part in the store, 0 for none
		want    string
	}{
		"alone":                                 {false, 0, "second"},
		"the one before is whole":               {true, 5, "first"},
		"the one before has lost its parts":     {true, 0, "second"},
		"the one before has an incomplete part": {true, 4, "second"},
	} {
		for _, alone := range []bool{false, true} {
			bucket := memblob.OpenBucket(nil)
			text := func(attempt string) []byte {
				m := manifest.Manifest{Format: manifest.Format, ID: "b1", Attempt: attempt, CompletedAt: now,
					Compression: manifest.CompressionNone, Parts: []manifest.Part{{Size: 5}}}
				text, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			write := func(key string, data []byte) {
				if err := store.Write(t.Context(), bucket, path.Join(base, key), data); err != nil {
					t.Fatal(err)
				}
			}
			if c.size > 0 {
				write("first/part-000000", make([]byte, c.size))
			}
			if c.earlier {
				write(manifest.Name, text("first"))
			}
			write("second/part-000000", make([]byte, 5))
			done, err := complete(t.Context(), bucket, base, text("second"), alone)
			if err != nil || done.ID != "b1" {
				t.Fatalf("%s: %+v, %v", name, done, err)
			}
			m, have, err := readManifest(t.Context(), bucket, base)
			if err != nil || m.Attempt != c.want || done.Checksum != manifest.Checksum(have) {
				t.Errorf("%s: the backup is that of the attempt %q: %v", name, m.Attempt, err)
			}
			if again, err := taken(t.Context(), bucket, base); err != nil || again == nil || again.Checksum != done.Checksum {
				t.Errorf("%s: a third attempt finds %+v, %v", name, again, err)
			}
			_ = bucket.Close()
		}
	}
}

// TestHeldUpAttempt: an attempt that was given up, and was held up before it began, removes nothing that a later one
// has stored. A later one removes what is left of it.
func TestHeldUpAttempt(t *testing.T) {
	const base = "demo/shop/u1/b1"
	first, second := attemptOf(1)+"abcdef", attemptOf(2)+"abcdef"
	for number, left := range map[int32][]string{
		1: {second + "/part-000000", "manifest.json"},
		2: nil, // a pod of the same attempt
		3: nil,
	} {
		bucket := memblob.OpenBucket(nil)
		write := func(key string, data []byte) {
			if err := store.Write(t.Context(), bucket, path.Join(base, key), data); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(manifest.Manifest{Format: manifest.Format, ID: "b1", Attempt: second, CompletedAt: now,
			Compression: manifest.CompressionNone, Parts: []manifest.Part{{Size: 5}}})
		if err != nil {
			t.Fatal(err)
		}
		write("part-000000", nil)
		write(first+"/part-000000", make([]byte, 5))
		write(second+"/part-000000", make([]byte, 5))
		write(manifest.Name, text)
		if err := clearEarlier(t.Context(), bucket, base, number); err != nil {
			t.Fatal(err)
		}
		var have []string
		objects, _ := bucket.List(&blob.ListOptions{Prefix: base + "/"}).All(t.Context())
		for o := range objects {
			have = append(have, strings.TrimPrefix(o.Key, base+"/"))
		}
		if !slices.Equal(have, left) {
			t.Errorf("attempt %d leaves %v", number, have)
		}
		_ = bucket.Close()
	}
}
