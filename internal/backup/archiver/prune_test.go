package archiver

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
)

// TestPrune: a segment goes when nothing has needed it for an hour, and none goes while a backup cannot be judged.
func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, a := context.Background(), newStore(t)
		now := time.Now().UTC()
		tenFrom(t, a, now.Add(-time.Hour), time.Minute)
		backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: now.Add(-time.Minute)})
		left := func() (out []uint64) { out, _ = a.list(ctx, a.dir+"/"); return out }
		s := surveying(a, time.Hour)
		pass := func(d time.Duration) {
			for range int(d / pruneEvery) {
				time.Sleep(pruneEvery)
				s.report(t)
			}
		}
		if pass(doomedTime); len(left()) != 5 {
			t.Errorf("too early: %v", left())
		}
		if pass(pruneEvery); len(left()) != 3 || left()[0] != 3 {
			t.Errorf("what is before the backup: %v", left())
		}
		if err := a.bucket.WriteAll(ctx, "demo/shop/1/b2/"+manifest.Name, []byte("{"), nil); err != nil {
			t.Fatal(err)
		}
		backup(t, a, manifest.Manifest{ID: "b3", GTID: "0-1-50", CompletedAt: now})
		if pass(4 * doomedTime); len(left()) != 3 || !strings.Contains(s.reports.now.Kept, "backup b2 ") {
			t.Errorf("a backup cannot be judged: %v", left())
		}
		if err := a.bucket.Delete(ctx, "demo/shop/1/b2/"+manifest.Name); err != nil {
			t.Fatal(err)
		}
		if pass(4 * doomedTime); len(left()) != 1 || left()[0] != 5 || s.reports.now.Kept != "" {
			t.Errorf("it is gone: %v, %q", left(), s.reports.now.Kept)
		}
	})
}

// TestStuck: a store that lets no segment be removed is named until one is. The backups were read all the same.
func TestStuck(t *testing.T) {
	refuse := true
	f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
		if refuse && r.Method == http.MethodDelete {
			return http.StatusForbidden, "AccessDenied"
		}
		return 0, ""
	})
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	a := newStore(t)
	a.bucket = bucket
	ten(t, a)
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: time.Now().UTC().Add(-time.Minute)})
	s := surveying(a, time.Hour)
	due := func() {
		s.pruned = time.Time{}
		for _, n := range []uint64{1, 2} {
			s.doomed[n] = time.Now().Add(-2 * doomedTime)
		}
	}
	due()
	for range 2 { // also until it is tried again
		if r := s.report(t); !strings.Contains(r.Kept, "AccessDenied") || r.Unread || r.Base != "b1" {
			t.Errorf("%+v", r)
		}
	}
	refuse = false
	due()
	if r := s.report(t); r.Kept != "" {
		t.Errorf("%+v", r)
	}
}

// TestNotGivenOut: a manifest that the store does not give out, as one that was archived, keeps the others from nothing
// but removals, and is asked for again. Where none is given out, nothing is known.
func TestNotGivenOut(t *testing.T) {
	refuse := "/b1/"
	f := storetest.NewFake(t, func(r *http.Request, _ []byte, _ bool) (int, string) {
		if refuse != "" && strings.Contains(r.URL.Path, refuse) && r.Method == http.MethodGet {
			return http.StatusForbidden, "InvalidObjectState"
		}
		return 0, ""
	})
	bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bucket.Close() }()
	a := newStore(t)
	a.bucket = bucket
	ten(t, a)
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-15", CompletedAt: time.Now().UTC().Add(-2 * time.Minute)})
	s := surveying(a, time.Hour)
	if err := s.once(t.Context()); err == nil || !strings.Contains(err.Error(), "backup b1 could not be read") ||
		s.reports.now.Surveyed {
		t.Errorf("none is given out: %+v, %v", s.reports.now, err)
	}
	backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-25", CompletedAt: time.Now().UTC().Add(-time.Minute)})
	if r := s.report(t); !r.Surveyed || r.Base != "b2" || !strings.Contains(r.Kept, "backup b1 cannot be read (Invalid") {
		t.Errorf("one of two is not: %+v", r)
	}
	refuse, s.bases.turn = "", "b1" // it is not its turn
	if r := s.report(t); r.Base != "b1" || r.Kept != "" {
		t.Errorf("it is again: %+v", r)
	}
}

// TestReplaced: a backup is what its object holds now. An attempt that was held up may have replaced the manifest that
// was read.
func TestReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t)
		now := time.Now().UTC()
		from := now.Add(-3*time.Hour - 10*time.Minute)
		tenFrom(t, a, from, 25*time.Minute)
		backup(t, a, manifest.Manifest{ID: "b0", GTID: "0-1-15", CompletedAt: now.Add(-3 * time.Hour)})
		s := surveying(a, time.Hour)
		if r := s.report(t); r.Base != "b0" || !r.From.Equal(from.Add(50*time.Minute+1)) {
			t.Fatalf("%+v", r)
		}
		time.Sleep(time.Second)
		backup(t, a, manifest.Manifest{ID: "b0", GTID: "0-1-25", CompletedAt: now.Add(-2 * time.Hour)})
		if r := s.report(t); !r.From.Equal(from.Add(75*time.Minute + 1)) {
			t.Errorf("it is reported as it was: %+v", r)
		}
		// one that is not reported, of many, makes segments needless
		for _, id := range []string{"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"} {
			backup(t, a, manifest.Manifest{ID: id, GTID: "0-1-26", CompletedAt: now.Add(-90 * time.Minute)})
		}
		backup(t, a, manifest.Manifest{ID: "b9", GTID: "0-1-45", CompletedAt: now.Add(-time.Hour - time.Minute)})
		s.report(t)
		time.Sleep(pruneEvery)
		s.report(t) // what is before b9 is needless from now on
		time.Sleep(doomedTime + time.Minute)
		backup(t, a, manifest.Manifest{ID: "b9", GTID: "0-1-12", CompletedAt: now.Add(-time.Hour - time.Minute)})
		s.bases.turn = "b3" // it is not its turn
		s.report(t)
		if left, _ := a.list(t.Context(), a.dir+"/"); len(left) != 5 {
			t.Errorf("left are %v", left)
		}
	})
}

// TestBasesInTurn: every manifest is asked for in turn, whatever is added and removed meanwhile: what is never asked
// for again keeps segments for ever.
func TestBasesInTurn(t *testing.T) {
	var b bases
	ids, seen := []string{"b0", "b1", "b2", "b3", "b4", "b5", "b6"}, map[string]bool{}
	for i := range len(ids) { // one is made each time, and the oldest one is removed
		for _, id := range b.due(ids) {
			seen[id] = true
		}
		ids = append(ids[1:], fmt.Sprint("c", i))
	}
	for _, id := range []string{"b4", "b5", "b6"} {
		if !seen[id] {
			t.Errorf("%s is not asked for: %v", id, seen)
		}
	}
	if due := b.due(nil); len(due) > 0 {
		t.Errorf("of none: %v", due)
	}
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprintf("m%04d", i)
	}
	clear(seen)
	for range 1440 {
		for _, id := range b.due(many) {
			seen[id] = true
		}
	}
	if len(seen) != len(many) {
		t.Errorf("%d of %d are asked for within a day", len(seen), len(many))
	}
}

// TestNextBaseWasReplaced: a backup that is to be reported in the place of one that is gone is read again first.
func TestNextBaseWasReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t)
		ten(t, a)
		now := time.Now().UTC()
		for i, gtid := range []string{"0-1-15", "0-1-25", "0-1-45", "0-1-45"} {
			backup(t, a, manifest.Manifest{ID: fmt.Sprint("b", i), GTID: gtid,
				CompletedAt: now.Add(time.Duration(i-9) * time.Hour)})
		}
		s := surveying(a, 100*time.Hour)
		if r := s.report(t); r.Base != "b0" {
			t.Fatalf("%+v", r)
		}
		time.Sleep(time.Second)
		if err := a.bucket.Delete(t.Context(), path.Join(a.cluster, "b0", manifest.Name)); err != nil {
			t.Fatal(err)
		}
		backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-2", CompletedAt: now.Add(-8 * time.Hour)})
		s.bases.turn = "b1" // it is not its turn
		if r := s.report(t); r.Base == "b1" {
			t.Errorf("it is reported as it was: %+v", r)
		}
		if r := s.report(t); r.Base != "b2" {
			t.Errorf("%+v", r)
		}
	})
}
