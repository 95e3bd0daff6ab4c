package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	oneHistory = "18cbf30b-e79e-11f1-acc2-86401dfd9420"
	archiveOf  = "demo/shop/u1"
)

// archiveInStore is a store with an archive of six segments: 1 begins it after 0-1-3, 2 to 6 have one transaction each.
// The backup b1 holds what is up to 0-1-4, b2 what is up to 0-1-6.
func archiveInStore(t *testing.T) *store.Bucket {
	t.Helper()
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	s := newSegments(t, 3)
	s.head.Lines = []binlog.Line{{History: oneHistory, ID: "a"}}
	s.head.Begins = true
	first, err := s.head.Encode()
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, bucket, 1, first)
	s.head.Begins = false
	for n := uint64(4); n <= 8; n++ {
		overwrite(t, bucket, n-2, s.add(t, n, magic, logFormat, transaction(n, uint32(10+n)))) //nolint:gosec // small
	}
	for id, gtid := range map[string]string{"b1": "0-1-4", "b2": "0-1-6"} {
		m := baseManifest(id, gtid)
		text, err := json.Marshal(m)
		if err == nil {
			err = store.Write(t.Context(), bucket, path.Join(archiveOf, id, manifest.Name), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return bucket
}

func baseManifest(id, gtid string) manifest.Manifest {
	return manifest.Manifest{Format: manifest.Format, ID: id, Compression: manifest.CompressionNone,
		Parts: make([]manifest.Part, 1), GTID: gtid, Line: binlog.Line{History: oneHistory, ID: "a"},
		Position: oneHistory + ":7", CompletedAt: time.Unix(1, 0).UTC()}
}

func segmentKey(n uint64) string { return path.Join(binlog.Dir(archiveOf), binlog.Key(n)) }

func overwrite(t *testing.T, bucket *store.Bucket, n uint64, text []byte) {
	t.Helper()
	if err := store.Write(t.Context(), bucket, segmentKey(n), text); err != nil {
		t.Fatal(err)
	}
}

// change changes what the store has of a segment.
func changeSegment(t *testing.T, bucket *store.Bucket, n uint64, do func(text []byte) []byte) {
	t.Helper()
	text, err := bucket.ReadAll(t.Context(), segmentKey(n))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, bucket, n, do(text))
}

func removeSegment(t *testing.T, bucket *store.Bucket, numbers ...uint64) {
	t.Helper()
	for _, n := range numbers {
		if err := bucket.Delete(t.Context(), segmentKey(n)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckArchive: the test of a backup reads the archive from the backup before it on, and names the segment that is
// missing, was altered, or was exchanged. What retention has removed, and the end of a chain, are no damage.
func TestCheckArchive(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(text []byte) []byte {
			text = bytes.Clone(text)
			text[(at+len(text))%len(text)] ^= 1
			return text
		}
	}
	none := func(*testing.T, *store.Bucket) {}
	for name, c := range map[string]struct {
		do      func(t *testing.T, bucket *store.Bucket)
		backup  manifest.Manifest
		want    int
		damaged string
	}{
		"whole":                  {none, baseManifest("b1", "0-1-4"), 4, ""},
		"from the backup before": {none, baseManifest("b2", "0-1-6"), 4, ""},
		"from the last backup before": {func(t *testing.T, b *store.Bucket) { backupIn(t, b, "a", "b0", "0-1-3") },
			baseManifest("b2", "0-1-6"), 4, ""},
		"the backup before is damaged": {func(t *testing.T, b *store.Bucket) {
			if err := store.Write(t.Context(), b, path.Join(archiveOf, "b1", manifest.Name), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}, baseManifest("b2", "0-1-6"), 2, ""},
		"and one before that": {func(t *testing.T, b *store.Bucket) {
			text, err := json.Marshal(baseManifest("b0", "0-1-3"))
			if err == nil {
				err = store.Write(t.Context(), b, path.Join(archiveOf, "b0", manifest.Name), text)
			}
			if err == nil {
				err = store.Write(t.Context(), b, path.Join(archiveOf, "b1", manifest.Name), []byte("x"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}, baseManifest("b2", "0-1-6"), 5, ""},
		"one before it is being made": {func(t *testing.T, b *store.Bucket) {
			if err := store.Write(t.Context(), b, path.Join(archiveOf, "b15", "part-000000"), []byte("x")); err != nil {
				t.Fatal(err)
			}
		}, baseManifest("b2", "0-1-6"), 4, ""},
		"not enabled": {none, baseManifest("b1", ""), 0, ""},
		"of another line": {none, func() manifest.Manifest {
			m := baseManifest("b0",
				"0-1-4")
			m.Line.ID = "z"
			return m
		}(), 0, ""},
		"removed by retention": {func(t *testing.T, b *store.Bucket) { removeSegment(t, b, 1, 2, 3) },
			baseManifest("b1", "0-1-4"), 0, ""},
		"removed before the last": {func(t *testing.T, b *store.Bucket) { removeSegment(t, b, 1, 2, 3) },
			baseManifest("b2", "0-1-6"), 2, ""},
		"one is missing": {func(t *testing.T, b *store.Bucket) { removeSegment(t, b, 4) }, baseManifest("b1", "0-1-4"), 0,
			"000000000004"},
		"one is missing before it": {func(t *testing.T, b *store.Bucket) { removeSegment(t, b, 3) },
			baseManifest("b2", "0-1-6"), 0, "000000000003"},
		"its content is altered": {func(t *testing.T, b *store.Bucket) { changeSegment(t, b, 5, flip(-3)) },
			baseManifest("b1", "0-1-4"), 0, "000000000005 of the archive: its content"},
		"its content is cut off": {func(t *testing.T, b *store.Bucket) {
			changeSegment(t, b, 5, func(text []byte) []byte { return text[:len(text)-4] })
		}, baseManifest("b1", "0-1-4"), 0, "000000000005 of the archive: its content"},
		"its head is damaged": {func(t *testing.T, b *store.Bucket) { changeSegment(t, b, 5, flip(0)) },
			baseManifest("b1", "0-1-4"), 0, "000000000005"},
		"the last one has a damaged head": {func(t *testing.T, b *store.Bucket) { changeSegment(t, b, 6, flip(0)) },
			baseManifest("b1", "0-1-4"), 0, "000000000006"},
		"the first that is left has a damaged head": {func(t *testing.T, b *store.Bucket) {
			removeSegment(t, b, 1, 2)
			changeSegment(t, b, 3, flip(0))
		}, baseManifest("b1", "0-1-4"), 0, "000000000003"},
		"its head is altered": {func(t *testing.T, b *store.Bucket) {
			changeSegment(t, b, 5, func(text []byte) []byte {
				return bytes.Replace(text, []byte(`"transactions":1`), []byte(`"transactions":2`), 1)
			})
		}, baseManifest("b1", "0-1-4"), 0, "000000000006"}, // the one after it names another one
		"one in the place of another": {func(t *testing.T, b *store.Bucket) {
			text, _ := b.ReadAll(t.Context(), segmentKey(4))
			overwrite(t, b, 5, text)
		}, baseManifest("b1", "0-1-4"), 0, "000000000005 cannot be read: it names itself"},
	} {
		bucket := archiveInStore(t)
		c.do(t, bucket)
		n, err := checkArchive(t.Context(), bucket, archiveOf, c.backup)
		var f failure
		switch {
		case c.damaged == "" && (err != nil || n != c.want):
			t.Errorf("%s: %d segments, %v", name, n, err)
		case c.damaged != "" && (!errors.As(err, &f) || f.reason != task.ReasonArchiveDamaged || !f.fatal ||
			!strings.Contains(err.Error(), c.damaged)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckArchiveFails: where the store does not answer about the backup before, the archive is neither whole nor
// damaged.
func TestCheckArchiveFails(t *testing.T) {
	for _, of := range []string{"b1/" + manifest.Name, binlog.Key(5), "?" + archiveOf + "/",
		"?" + binlog.Dir(archiveOf) + "/", "?" + path.Dir(segmentKey(5)) + "/"} {
		bucket := judged(t, archiveInStore(t), func(r *http.Request, _ []byte, _ bool) (int, string) {
			if strings.HasSuffix(r.URL.Path, of) || of == "?"+r.URL.Query().Get("prefix") {
				return http.StatusForbidden, "AccessDenied"
			}
			return 0, ""
		})
		n, err := checkArchive(t.Context(), bucket, archiveOf, baseManifest("b2", "0-1-6"))
		if reason, final := explain(err); reason != task.ReasonStoreRefused || !final || n != 0 {
			t.Errorf("%s is refused: %d segments, %s %v %v", of, n, reason, final, err)
		}
		_ = bucket.Close()
	}
}

// TestDamagedHead: a segment whose head is damaged ends what can be restored from before it, and nothing else.
func TestDamagedHead(t *testing.T) {
	for name, c := range map[string]struct {
		damaged []uint64
		id      string
		target  binlog.Target
		to      uint64
		says    string
	}{
		"a later one":             {[]uint64{6}, "b1", binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 6}}, 5, ""},
		"without a backup's name": {[]uint64{6}, "", binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 6}}, 5, ""},
		"all but what is needed":  {[]uint64{5, 6}, "b1", binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 5}}, 4, ""},
		"the target is beyond it": {[]uint64{5}, "b1", binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 8}}, 0,
			"the segment 000000000005 cannot be read"},
		"the latest":          {[]uint64{6}, "b1", binlog.Target{Latest: true}, 0, "the segment 000000000006 cannot be read"},
		"one before the base": {[]uint64{1, 3}, "b2", binlog.Target{GTID: binlog.GTID{Server: 1, Seq: 8}}, 6, ""},
		"all":                 {[]uint64{1, 2, 3, 4, 5, 6}, "b1", binlog.Target{Latest: true}, 0, "those before it neither"},
	} {
		bucket := archiveInStore(t)
		for _, n := range c.damaged {
			changeSegment(t, bucket, n, func(text []byte) []byte { return append([]byte("x"), text...) })
		}
		_, r, err := locate(t.Context(), bucket, task.Find{Dir: archiveOf, ID: c.id, Target: &c.target})
		switch {
		case c.says == "" && (err != nil || r == nil || r.To != c.to):
			t.Errorf("%s: %+v, %v", name, r, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// TestSegmentsAreListed: those of all directories, in order, and nothing else.
func TestSegmentsAreListed(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	defer func() { _ = bucket.Close() }()
	for _, key := range []string{segmentKey(999), segmentKey(1000), segmentKey(1001), segmentKey(12000),
		segmentKey(12001) + ".187f3a.tmp", path.Join(binlog.Dir(archiveOf), binlog.ThroughName)} {
		if err := store.Write(t.Context(), bucket, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	if have, err := w.list(t.Context()); err != nil || !slices.Equal(have, []uint64{999, 1000, 1001, 12000}) {
		t.Errorf("%v, %v", have, err)
	}
}

// TestSegmentGoesWhileItIsRead: a segment that was listed and is gone may have been removed by retention. The next
// attempt decides.
func TestSegmentGoesWhileItIsRead(t *testing.T) {
	bucket := archiveInStore(t)
	w := walk{bucket: bucket, dir: binlog.Dir(archiveOf)}
	h, err := w.head(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	removeSegment(t, bucket, 3)
	var f failure
	if err := w.content(t.Context(), h); !errors.As(err, &f) || f.fatal {
		t.Errorf("%v", err)
	}
	if _, err := w.heads(t.Context(), []uint64{2, 3}); !errors.As(err, &f) || f.fatal ||
		!strings.Contains(err.Error(), "000000000003 is missing") {
		t.Errorf("its head: %v", err)
	}
	if _, err := bucket.List(&blob.ListOptions{Prefix: archiveOf}).Next(t.Context()); err != nil {
		t.Fatal(err)
	}
}
