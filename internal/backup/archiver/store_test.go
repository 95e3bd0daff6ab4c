package archiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"filippo.io/age"
	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
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
	h.Format = binlog.FormatVersion
	return a.put(context.Background(), h, s)
}

// TestPut: a segment is stored once. Another archiver's is not overwritten, and an own one that was not heard is no error.
func TestPut(t *testing.T) {
	ctx, a := context.Background(), newStore(t)
	if at, err := a.load(ctx); err != nil || at.Number != 0 {
		t.Fatalf("an empty store: %+v, %v", at, err)
	}
	s, err := newSpool(a.recipients)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := binlog.Head{Format: 1, Number: 1, Last: gtid(7), BeforeLast: gtid(6), LastSum: "s"}
	for range 2 {
		if err := a.put(ctx, h, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t, a, binlog.Head{Number: 1, Last: gtid(8)}, "x"); !errors.Is(err, errTaken) {
		t.Errorf("another archiver: %v", err)
	}
	at, err := a.load(ctx)
	if err != nil || at.Number != 1 || at.Last != gtid(7) || at.SHA256 == "" || at.Size == 0 || at.resume() != gtid(6) || !at.verifies() {
		t.Errorf("%+v, %v", at, err)
	}
	if begun := (place{binlog.Head{Begins: true, Last: gtid(7)}}); begun.verifies() || begun.resume() != gtid(7) {
		t.Error("the beginning has no transaction to compare")
	}
}

// TestPrune: what the oldest backup needs stays, and the last segment whatever there is.
func TestPrune(t *testing.T) {
	ctx, a := context.Background(), newStore(t)
	for n := uint64(1); n <= 5; n++ {
		if err := write(t, a, binlog.Head{Number: n, Previous: gtid(10 * (n - 1)), Last: gtid(10 * n)}, fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []struct {
		id, gtid string
		at       time.Time
	}{{"b1", "0-1-25,1-1-3", noon}, {"b2", "0-1-45", noon.Add(time.Hour)}, {"old", "", noon.Add(-time.Hour)}} {
		text, _ := json.Marshal(manifest.Manifest{Format: 1, ID: b.id, GTID: b.gtid, CompletedAt: b.at, Compression: manifest.CompressionNone, Parts: []manifest.Part{{Size: 1}}})
		if err := a.bucket.WriteAll(ctx, "demo/shop/1/"+b.id+"/"+manifest.Name, text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.bucket.WriteAll(ctx, "demo/shop/1/half/part-000000", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	bases, err := a.bases(ctx, 0, map[string]binlog.Base{})
	if err != nil || len(bases) != 2 || bases[0].GTID != gtid(25) || !bases[0].Time.Equal(noon) {
		t.Fatalf("%+v, %v", bases, err)
	}
	if err := a.prune(ctx, bases); err != nil {
		t.Fatal(err)
	}
	if left, _ := a.numbers(ctx); len(left) != 3 || left[0] != 3 {
		t.Errorf("left are %v", left)
	}
	if err := a.prune(ctx, []binlog.Base{{GTID: gtid(99), Time: noon}}); err != nil {
		t.Fatal(err)
	}
	if left, _ := a.numbers(ctx); len(left) != 1 || left[0] != 5 {
		t.Errorf("left are %v", left)
	}
}

// TestSurvey: the earliest backup that the archive goes on from is the one that is told.
func TestSurvey(t *testing.T) {
	ctx := context.Background()
	a := &archiver{store: newStore(t), told: &board{}, pruned: time.Now()}
	for _, h := range []binlog.Head{{Number: 1, Begins: true, Last: gtid(10), Chain: 1}, {Number: 2, Previous: gtid(10), Last: gtid(20), Chain: 1}} {
		if err := write(t, a.store, h, "x"); err != nil {
			t.Fatal(err)
		}
		a.told.archived(place{h})
	}
	for _, c := range []struct {
		bases []binlog.Base
		want  string
	}{
		{nil, ""},
		{[]binlog.Base{{ID: "before", GTID: gtid(9), Time: noon}}, ""},
		{[]binlog.Base{{ID: "before", GTID: gtid(9), Time: noon}, {ID: "later", GTID: gtid(19), Time: noon.Add(2 * time.Hour)}, {ID: "first", GTID: gtid(10), Time: noon.Add(time.Hour)}}, "first"},
	} {
		if err := a.surveyOnce(ctx, 1, c.bases); err != nil {
			t.Fatal(err)
		}
		if a.told.now.Base != c.want || !a.told.now.Surveyed {
			t.Errorf("%+v instead of %q", a.told.now, c.want)
		}
	}
}
