package runner

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/mbstream"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestStoredBackup: a stream in an object, also a compressed one, and files in a folder are handed over as the same
// stream. What is none is refused before there is a volume.
func TestStoredBackup(t *testing.T) {
	var stream bytes.Buffer
	w := mbstream.NewWriter(&stream)
	for _, name := range slices.Sorted(maps.Keys(theirFiles())) {
		_ = w.Begin(name)
		_, _ = w.Write(theirFiles()[name])
		_ = w.End()
	}
	var gz, zst bytes.Buffer
	packed := gzip.NewWriter(&gz)
	_, _ = packed.Write(stream.Bytes())
	_ = packed.Close()
	small, _ := zstd.NewWriter(&zst)
	_, _ = small.Write(stream.Bytes())
	_ = small.Close()
	folder := map[string][]byte{"b/": nil}
	for name, text := range theirFiles() {
		folder["b/"+name] = text
	}
	doubled := map[string][]byte{}
	for name, text := range theirFiles() {
		doubled["b//c/"+name] = text
	}
	// a frame whose window is 256 MiB: magic, no size of its content, the exponent 28-10
	long := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3}, 0x01, 0x00, 0x00)
	without := func(name string) map[string][]byte {
		out := maps.Clone(folder)
		delete(out, name)
		return out
	}
	with := func(name string) map[string][]byte {
		out := maps.Clone(folder)
		out[name] = []byte("{}")
		return out
	}
	later := []string{"an empty object", "an object's beginning", "nothing", "not a name's beginning", "half a folder"}
	for name, c := range map[string]struct {
		objects map[string][]byte
		path    string
		reason  string // of its check
		sends   string // the reason of what is sent
		says    string
	}{
		"a stream": {map[string][]byte{"s.xb": stream.Bytes()}, "s.xb", "", "", ""},
		"by gzip":  {map[string][]byte{"s": gz.Bytes()}, "s", "", "", ""},
		"by zstd":  {map[string][]byte{"s.zst": zst.Bytes()}, "s.zst", "", "", ""},
		"by zstd, cut off": {map[string][]byte{"s.zst": zst.Bytes()[:zst.Len()/2]}, "s.zst", task.ReasonBackupDamaged, "",
			"cannot be decompressed"},
		"by gzip, cut off": {map[string][]byte{"s": gz.Bytes()[:gz.Len()-4]}, "s", "", task.ReasonBackupDamaged,
			"to its end"},
		"a folder":              {folder, "b", "", "", ""},
		"a folder with a slash": {folder, "b/", "", "", ""},
		"a dump": {map[string][]byte{"s.sql": []byte("-- MariaDB dump")}, "s.sql", task.ReasonImportRefused, "",
			"holds no stream"},
		"an empty object": {map[string][]byte{"s": nil}, "s", task.ReasonBackupDamaged, "", "has 0 bytes"},
		"an object's beginning": {map[string][]byte{"s": []byte(mbstream.Magic[:7])}, "s", task.ReasonBackupDamaged, "",
			"has 7 bytes"},
		"nothing":                {folder, "c", task.ReasonBackupNotFound, "", "no object"},
		"not a name's beginning": {folder, "b/sho", task.ReasonBackupNotFound, "", "no object"},
		"half a folder": {without("b/xtrabackup_checkpoints"), "b", task.ReasonBackupDamaged, "",
			"was cut off"},
		"one of the operator's": {with("b/manifest.json"), "b", task.ReasonImportRefused, "",
			"spec.bootstrapFrom.store"},
		"a folder with two slashes":   {doubled, "b//c", "", "", ""},
		"by zstd with a large window": {map[string][]byte{"s": long}, "s", task.ReasonImportRefused, "", "without --long"},
		"a name that is too long": {with("b/" + strings.Repeat("x", 512)), "b", task.ReasonImportRefused, "",
			"a name of 512 bytes"},
		"a name that leads outside": {with("b/../x"), "b", task.ReasonImportRefused, "", "no name of a file"},
	} {
		bucket := memblob.OpenBucket(nil)
		for key, text := range c.objects {
			if err := bucket.WriteAll(t.Context(), key, text, nil); err != nil {
				t.Fatal(err)
			}
		}
		b := storedBackup{bucket: bucket, path: c.path, limit: limiter(1 << 30)}
		size, err := b.describe(t.Context())
		if reason, final := explain(err); reason != c.reason || c.reason != "" && final == slices.Contains(later, name) ||
			err != nil && !strings.Contains(err.Error(), c.says) || err == nil && size <= 0 {
			t.Errorf("%s: %d, %q: %v", name, size, reason, err)
		}
		if c.reason != "" {
			continue
		}
		var got bytes.Buffer
		err = b.send(t.Context(), &got)
		if reason, _ := explain(err); reason != c.sends || err == nil && !bytes.Equal(got.Bytes(), stream.Bytes()) ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %d bytes of %d are sent, %q: %v", name, got.Len(), stream.Len(), reason, err)
		}
		_ = bucket.Close()
	}
}

// TestChangedWhileRead: what another program writes to a backup while it is read makes the attempt fail, and only that.
func TestChangedWhileRead(t *testing.T) {
	var stream bytes.Buffer
	w := mbstream.NewWriter(&stream)
	_ = w.Begin("ibdata1")
	_, _ = w.Write(page(false))
	_ = w.End()
	for name, c := range map[string]struct {
		path   string
		change func(b *blob.Bucket) error // as soon as the first bytes are sent
		says   string                     // "" for none
	}{
		"a folder": {"b", func(*blob.Bucket) error { return nil }, ""},
		"larger, before it is read": {"b", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "b/shop/t.ibd", make([]byte, 32<<10), nil)
		}, `"b/shop/t.ibd" was changed`},
		"smaller, before it is read": {"b", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "b/shop/t.ibd", make([]byte, 8<<10), nil)
		}, `"b/shop/t.ibd" was changed`},
		"of the same size": {"b", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "b/shop/t.ibd", make([]byte, 16<<10), nil)
		}, `"b" was changed while it was read: wait`},
		"after it was read": {"b", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "b/backup-my.cnf", []byte("[mysqld]\ninnodb_page_size=8192\n"), nil)
		}, `"b" was changed`},
		"another object": {"b", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "b/shop/u.ibd", nil, nil)
		}, `"b" was changed`},
		"one less": {"b", func(b *blob.Bucket) error { return b.Delete(t.Context(), "b/backup-my.cnf") }, `"b" was changed`},
		"elsewhere": {"b", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "bc", []byte("x"), nil)
		}, ""},
		"a stream": {"s", func(*blob.Bucket) error { return nil }, ""},
		"another stream": {"s", func(b *blob.Bucket) error {
			return b.WriteAll(t.Context(), "s", make([]byte, stream.Len()), nil)
		}, `"s" was changed`},
		"no stream any more": {"s", func(b *blob.Bucket) error { return b.Delete(t.Context(), "s") }, `"s" was changed`},
	} {
		bucket := memblob.OpenBucket(nil)
		for name, text := range theirFiles() {
			if err := bucket.WriteAll(t.Context(), "b/"+name, text, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := bucket.WriteAll(t.Context(), "s", stream.Bytes(), nil); err != nil {
			t.Fatal(err)
		}
		b := storedBackup{bucket: bucket, path: c.path}
		err := b.send(t.Context(), &meanwhile{do: func() {
			if err := c.change(bucket); err != nil {
				t.Error(err)
			}
		}})
		reason, final := explain(err)
		if (err == nil) != (c.says == "") || final || err != nil && (reason != task.ReasonBackupDamaged ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %q, %v: %v", name, reason, final, err)
		}
		_ = bucket.Close()
	}
}

// TestDamagedWhileRead: a stream that is damaged is so for good, but not if it has changed while it was read.
func TestDamagedWhileRead(t *testing.T) {
	var gz bytes.Buffer
	packed := gzip.NewWriter(&gz)
	w := mbstream.NewWriter(packed)
	_ = w.Begin("ibdata1")
	_, _ = w.Write(page(false))
	_ = w.End()
	_ = packed.Close()
	whole := bytes.Clone(gz.Bytes())
	for name, c := range map[string]struct {
		change func(b *blob.Bucket) error
		final  bool
		says   string
	}{
		"cut off": {func(*blob.Bucket) error { return nil }, true, "cannot be read to its end"},
		"uploaded": {func(b *blob.Bucket) error { return b.WriteAll(t.Context(), "s", whole, nil) }, false,
			"was changed"},
		"removed": {func(b *blob.Bucket) error { return b.Delete(t.Context(), "s") }, false, "was changed"},
	} {
		bucket := memblob.OpenBucket(nil)
		if err := bucket.WriteAll(t.Context(), "s", whole[:len(whole)-4], nil); err != nil {
			t.Fatal(err)
		}
		b := storedBackup{bucket: bucket, path: "s"}
		err := b.send(t.Context(), &meanwhile{do: func() {
			if err := c.change(bucket); err != nil {
				t.Error(err)
			}
		}})
		if reason, final := explain(err); reason != task.ReasonBackupDamaged || final != c.final ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v: %v", name, reason, final, err)
		}
		_ = bucket.Close()
	}
}

// TestOfChanged: what was found in an object counts as long as it is the same one.
func TestOfChanged(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	if err := bucket.WriteAll(t.Context(), "s", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	b := storedBackup{bucket: bucket, path: "s"}
	now, _, err := b.stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := now
	before.modified--
	refused, passing := refusedBackup("it holds no stream"), because(task.ReasonDiskFull, io.ErrShortWrite)
	for i, c := range []struct {
		was  storedFile
		err  error
		same bool // the error is the same
	}{
		{now, nil, true},
		{now, refused, true},
		{before, refused, false},
		{before, nil, false},
		{before, passing, true},
	} {
		err := b.ofChanged(t.Context(), c.was, c.err)
		if _, final := explain(err); errors.Is(err, c.err) != c.same || !c.same && (err == nil || final) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// meanwhile does something once, at the first bytes that are written to it.
type meanwhile struct{ do func() }

// Write implements io.Writer.
func (m *meanwhile) Write(data []byte) (int, error) {
	if m.do != nil {
		m.do()
		m.do = nil
	}
	return len(data), nil
}
