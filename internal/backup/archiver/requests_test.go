package archiver

import (
	"encoding/json"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestRequests: what an archiver asks a store in an idle minute does not depend on how much lies there.
func TestRequests(t *testing.T) {
	const segments, backups, mostAMinute = 8_000, 1000, 13
	f := storetest.NewFake(t, nil)
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	a, err := newArchive(bucket, task.Archive{Dir: "demo/shop/1"})
	if err != nil {
		t.Fatal(err)
	}
	l := line("a", 0)
	l.History = history
	before := binlog.Head{}
	for n := uint64(1); n <= segments; n++ {
		h := binlog.Head{Format: binlog.FormatVersion, Lines: []binlog.Line{l}, Session: "s1", Number: n, Chain: 1,
			Begins: n == 1, Before: before.Checksum, Previous: before.Last, PreviousSeqno: before.Seqno, Last: gtid(n),
			Seqno: int64(n)}
		text, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		f.Put(a.key(n), text)
		before = h
	}
	for n := range backups {
		m := manifest.Manifest{Format: 1, ID: fmt.Sprintf("b%04d", n), Session: "s1", Line: l,
			GTID: fmt.Sprint("0-1-", 10*n+10), Position: fmt.Sprint(history, ":", 10*n+10),
			CompletedAt: noon.Add(time.Duration(n) * time.Hour), Compression: manifest.CompressionNone,
			Parts: []manifest.Part{{Size: 1}}}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		f.Put(path.Join("demo/shop/1", m.ID, manifest.Name), text)
	}
	reports, end := &board{}, &archiver{store: a, at: place{before}}
	reports.archived(end.at)
	s := newSurveyor(a, reports, task.Archive{Session: "s1", WindowSeconds: 3600})
	if r := s.report(t); r.Base != "b0000" || !reports.based() {
		t.Fatalf("%+v", r)
	}
	first, of := f.Requests()
	t.Logf("the first check: %d requests, %s", first, of)
	for range 5 {
		s.report(t) // once an idleEvery
		for range time.Minute / throughEvery {
			if err := end.stands(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := a.writeThrough(t.Context(), binlog.Through{Time: noon, Last: gtid(segments),
				Segment: segments}); err != nil {
				t.Fatal(err)
			}
		}
		if n, of := f.Requests(); n > mostAMinute {
			t.Errorf("%d requests: %s", n, of)
		} else {
			t.Logf("%d requests: %s", n, of)
		}
	}
}
