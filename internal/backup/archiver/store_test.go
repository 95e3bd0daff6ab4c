package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func gtid(seq uint64) binlog.GTID { return binlog.GTID{Server: 1, Seq: seq} }

func newStore(t *testing.T) *archive {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	a, err := newArchive(bucket, task.Archive{Dir: "demo/shop/1", Recipients: []string{key.Recipient().String()}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// write stores a segment with some text in the place of events.
func write(t *testing.T, a *archive, h binlog.Head, text string) error {
	t.Helper()
	s, err := newSpool(a.recipients)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	h.Format, h.Lines, h.Session = binlog.FormatVersion, []binlog.Line{line("a", 0)}, "s1"
	return a.put(context.Background(), &h, s)
}

// TestSpoolLeavesNothing: a container that is killed leaves no file behind, however often it is.
func TestSpoolLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSpool([]age.Recipient{key.Recipient()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var h binlog.Head
	if err := errors.Join(s.write([]byte("x")), s.end(&h)); err != nil || h.Size == 0 {
		t.Fatalf("%+v, %v", h, err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestLoad: the archive ends with the last segment of the last directory that has one.
func TestLoad(t *testing.T) {
	ctx, a := t.Context(), newStore(t)
	if at, err := a.load(ctx); err != nil || at.Number != 0 {
		t.Errorf("an empty store: %+v, %v", at, err)
	}
	for _, n := range []uint64{998, 999, 1000, 1001} {
		if err := write(t, a, binlog.Head{Number: n, Last: gtid(n)}, "x"); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{a.key(2000) + ".187f3a.tmp", "demo/shop/1/binlog/" + binlog.ThroughName,
		"demo/other/1/binlog/" + binlog.Key(3000)} {
		if err := a.bucket.WriteAll(ctx, key, []byte("x"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := a.load(ctx); err != nil || at.Number != 1001 {
		t.Errorf("%+v, %v", at, err)
	}
}

// TestHeldUp: an archiver that was held up looks for the end of the archive before it stores anything: segments after
// its last one may have come and gone.
func TestHeldUp(t *testing.T) {
	files := newStore(t)
	a := &archiver{store: files, reports: &board{}, loaded: true, known: time.Now().Add(-doomedTime),
		at: place{binlog.Head{Number: 3}}}
	var again once
	if err := a.upload(context.Background(), binlog.Head{Last: gtid(7)}, nil); !errors.As(err, &again) || a.loaded {
		t.Errorf("%v", err)
	}
	if all, _ := files.list(context.Background(), files.dir+"/"); len(all) > 0 {
		t.Errorf("%v", all)
	}
}

// backup stores a manifest.
func backup(t *testing.T, a *archive, m manifest.Manifest) (checksum string) {
	t.Helper()
	if m.Line.ID == "" {
		m.Line = line("a", 0)
	}
	m.Line.History = history
	m.Format = manifest.Format
	if m.Base != nil {
		m.Format = manifest.IncrementFormat
	}
	m.Session, m.Compression, m.Parts = "s1", manifest.CompressionNone, []manifest.Part{{Size: 1}}
	at, _ := binlog.In(m.GTID, 0)
	m.Position = fmt.Sprintf("%s:%d", history, max(at.Seq, 1))
	text, _ := json.Marshal(m)
	if err := a.bucket.WriteAll(context.Background(), "demo/shop/1/"+m.ID+"/"+manifest.Name, text, nil); err != nil {
		t.Fatal(err)
	}
	return manifest.Checksum(text)
}

const history = "3bef4e28-e852-11f1-b333-be0e8d52dde1"

// ten has an archive of five segments of ten transactions.
func ten(t *testing.T, a *archive) { t.Helper(); tenFrom(t, a, noon, time.Hour) }

// tenFrom has one whose segments end a while after another, from a time on.
func tenFrom(t *testing.T, a *archive, from time.Time, each time.Duration) {
	t.Helper()
	before, l := "", line("a", 0)
	l.History = history
	for n := uint64(1); n <= 5; n++ {
		h := binlog.Head{Format: binlog.FormatVersion, Lines: []binlog.Line{l}, Session: "s1", Number: n, Chain: 1,
			Begins: n == 1, Before: before, Last: gtid(10 * n), Seqno: int64(10 * n),
			LastTime: from.Add(time.Duration(n) * each)}
		if n > 1 {
			h.Previous, h.PreviousSeqno = gtid(10*(n-1)), int64(10*(n-1))
		}
		if err := a.put(context.Background(), &h, nil); err != nil {
			t.Fatal(err)
		}
		before = h.Checksum
	}
}

func (s *surveyor) report(t *testing.T) task.Archived {
	t.Helper()
	if err := s.once(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s.reports.now
}

// surveying is a surveyor of an archive that ends at its fifth segment.
func surveying(a *archive, window time.Duration) *surveyor {
	b := &board{}
	b.archived(place{binlog.Head{Number: 5, Last: gtid(50)}})
	b.clock(time.Now().UTC(), policy.Clock{})
	return newSurveyor(a, b, task.Archive{WindowSeconds: int64(window / time.Second), Session: "s1"})
}

// sizeOf is that of all segments.
func sizeOf(t *testing.T, a *archive) (sum int64) {
	t.Helper()
	numbers, err := a.list(t.Context(), a.dir+"/")
	if err != nil || len(numbers) == 0 {
		t.Fatal(numbers, err)
	}
	for _, n := range numbers {
		o, err := a.bucket.Attributes(t.Context(), a.key(n))
		if err != nil {
			t.Fatal(err)
		}
		sum += o.Size
	}
	return sum
}

// TestSurvey: what is reported comes from the store, so that a restart, or a segment that is lost, is reported as it
// is.
func TestSurvey(t *testing.T) {
	ctx, a := context.Background(), newStore(t)
	ten(t, a)
	s := surveying(a, time.Hour)
	if r := s.report(t); r.Base != "" || r.Gap != "" || !r.Surveyed || r.Chain != 1 || r.Bytes != sizeOf(t, a) {
		t.Errorf("no backup: %+v", r)
	}
	backup(t, a, manifest.Manifest{ID: "old", GTID: "", CompletedAt: noon})
	backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-45,1-1-3", CompletedAt: noon.Add(time.Hour)})
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: noon})
	if err := a.bucket.WriteAll(ctx, "demo/shop/1/half/part-000000", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	if r := s.report(t); r.Base != "b1" || !r.From.Equal(noon.Add(3*time.Hour+1)) {
		t.Errorf("%+v", r)
	}
	if err := a.bucket.Delete(ctx, a.key(4)); err != nil {
		t.Fatal(err)
	}
	if r := s.report(t); r.Base != "b2" || r.Chain != 5 {
		t.Errorf("a segment is lost: %+v", r)
	}
	if err := a.bucket.Delete(ctx, "demo/shop/1/b2/"+manifest.Name); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*surveyor{s, surveying(a, time.Hour)} {
		if r := s.report(t); r.Base != "" || !strings.Contains(r.Gap, "000000000004 is missing") {
			t.Errorf("and its backup: %+v", r)
		}
	}
}

// TestSurveyFails: what cannot be read changes nothing that is reported.
func TestSurveyFails(t *testing.T) {
	ctx, a := context.Background(), newStore(t)
	ten(t, a)
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: noon})
	s := surveying(a, time.Hour)
	s.report(t)
	if err := a.bucket.WriteAll(ctx, a.key(5), []byte("{}\n"), nil); err != nil {
		t.Fatal(err)
	}
	clear(s.heads)
	if err := s.once(ctx); err == nil || s.reports.now.Base != "b1" || !s.reports.now.Surveyed {
		t.Errorf("%v: %+v", err, s.reports.now)
	}
}

// TestSurveyOfBefore: what was found before the archive has begun anew does not count for the new chain.
func TestSurveyOfBefore(t *testing.T) {
	var b board
	b.archived(place{binlog.Head{Number: 5, Last: gtid(50)}})
	b.archived(place{binlog.Head{Number: 6, Begins: true, Last: gtid(60)}})
	if b.surveyed(5, policy.Report{Chain: 1, Base: policy.Base{ID: "b1"}}); b.now.Surveyed || b.now.Base != "" {
		t.Errorf("%+v", b.now)
	}
	if b.surveyed(6, policy.Report{Chain: 6, Gap: "purged"}); !b.now.Surveyed || b.now.Gap == "" {
		t.Errorf("%+v", b.now)
	}
}

// TestSurveyOfAnotherSession: what the archive had before it was disabled does not count for the one that has not begun
// yet.
func TestSurveyOfAnotherSession(t *testing.T) {
	a := newStore(t)
	ten(t, a)
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: noon})
	s := surveying(a, time.Hour)
	s.task.Session = "s2"
	if r := s.report(t); r.Base != "" || r.Surveyed {
		t.Errorf("%+v", r)
	}
}

// TestDamaged: a backup that was found damaged is no base, and what is before it stays for as long as it may be needed.
func TestDamaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t)
		now := time.Now().UTC()
		tenFrom(t, a, now.Add(-4*time.Hour), 10*time.Minute)
		backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: now.Add(-2 * time.Hour)})
		backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-45", CompletedAt: now.Add(-time.Hour)})
		s := surveying(a, time.Minute)
		s.task.Damaged = []string{"b2"}
		for range 20 {
			time.Sleep(pruneEvery)
			s.report(t)
		}
		if left, _ := a.list(t.Context(), a.dir+"/"); len(left) != 3 || left[0] != 3 {
			t.Errorf("left are %v", left)
		}
		s.task.Damaged = []string{"b1"}
		if r := s.report(t); r.Base != "b2" {
			t.Errorf("%+v", r)
		}
		s.task.Damaged, s.task.KeepAll = nil, true
		for range 20 {
			time.Sleep(pruneEvery)
			s.report(t)
		}
		if left, _ := a.list(t.Context(), a.dir+"/"); len(left) != 3 || !strings.Contains(s.reports.now.Kept, "damaged") {
			t.Errorf("not all that is damaged is known, and left are %v", left)
		}
	})
}

// TestPutWithoutRight: segments are archived where the right to list holds for the store's prefix only: S3 refuses a
// request for a missing object then.
func TestPutWithoutRight(t *testing.T) {
	refused := 0
	f := storetest.NewFake(t, func(r *http.Request, _ []byte, exists bool) (int, string) {
		key := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/"+storetest.Bucket), "/")
		lists := key == "" && !strings.HasPrefix(r.URL.Query().Get("prefix"), "shops/")
		if lists || key != "" && !exists && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			refused++
			return http.StatusForbidden, "AccessDenied"
		}
		return 0, ""
	})
	f.Prefix = "shops"
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	a := newStore(t)
	a.bucket = bucket
	ten(t, a)
	if at, err := a.load(t.Context()); err != nil || at.Number == 0 || refused == 0 {
		t.Errorf("%+v, %v, %d refusals", at, err, refused)
	}
}

// TestRewritten: an archive that was lost, and has begun anew with the same numbers, has no gap.
func TestRewritten(t *testing.T) {
	a := newStore(t)
	ten(t, a)
	h, err := a.head(t.Context(), 1)
	for n := uint64(2); n <= 5 && err == nil; n++ {
		err = a.bucket.Delete(t.Context(), a.key(n))
	}
	s := surveying(a, time.Hour)
	s.report(t) // there is one segment
	if err == nil {
		err = a.bucket.Delete(t.Context(), a.key(1))
	}
	for range 2 {
		if err == nil {
			h.LastTime = h.LastTime.Add(time.Minute)
			err = a.put(t.Context(), &h, nil)
		}
		h.Before, h.Number, h.Previous, h.PreviousSeqno = h.Checksum, h.Number+1, h.Last, h.Seqno
		h.Begins, h.Last, h.Seqno = false, gtid(h.Last.Seq+10), h.Seqno+10
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := s.report(t); r.Gap != "" || r.Chain != 1 {
		t.Errorf("%+v", r)
	}
}
