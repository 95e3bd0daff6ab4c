package archiver

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestNeedsNothing: a store that was listed, and has no segment, needs no backup; one that cannot be listed may.
func TestNeedsNothing(t *testing.T) {
	a := newStore(t)
	s := surveying(a, time.Hour)
	s.reports.now = task.Archived{}
	if s.reports.empty(false); s.reports.now.Needed != nil {
		t.Errorf("before it is listed: %v", s.reports.now.Needed)
	}
	if err := s.once(context.Background()); err != nil || s.reports.now.Needed == nil || len(s.reports.now.Needed) > 0 {
		t.Errorf("it is empty: %v, %v", s.reports.now.Needed, err)
	}
	ten(t, a)
	if err := s.once(context.Background()); err != nil || s.reports.now.Needed != nil {
		t.Errorf("it has segments, and was not loaded: %v, %v", s.reports.now.Needed, err)
	}
}

// TestNeeded: what the window needs is reported once it is known, and stays while a backup cannot be judged.
func TestNeeded(t *testing.T) {
	ctx, a := context.Background(), newStore(t)
	ten(t, a)
	s := surveying(a, time.Hour)
	reports := func(want ...string) {
		t.Helper()
		text, err := json.Marshal(s.reports.now)
		if err != nil {
			t.Fatal(err)
		}
		var heard task.Archived
		if err := json.Unmarshal(text, &heard); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(heard.Needed, want) || (heard.Needed == nil) != (want == nil) {
			t.Errorf("%v instead of %v", heard.Needed, want)
		}
	}
	reports()
	s.report(t)
	reports([]string{}...)
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-15", CompletedAt: noon})
	backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-25", CompletedAt: noon})
	s.report(t)
	reports("b2")
	s.reports.clocked = clocked{}
	s.report(t)
	reports("b1") // until it is known what is older than the window
	s.reports.clock(time.Now().UTC(), policy.Clock{})
	if err := a.bucket.WriteAll(ctx, "demo/shop/1/b3/"+manifest.Name, []byte("{"), nil); err != nil {
		t.Fatal(err)
	}
	s.report(t)
	reports("b2", "b1") // what was reported stays, too
	s.report(t)
	reports("b2", "b1")
	if err := a.bucket.Delete(ctx, "demo/shop/1/b3/"+manifest.Name); err != nil {
		t.Fatal(err)
	}
	all, _, err := s.bases.all(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	archived := policy.Archive{Numbers: []uint64{1, 2, 3, 4, 5},
		Head: func(n uint64) (binlog.Head, error) { return s.head(ctx, n) }}
	backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-26", CompletedAt: noon}) // after it was read
	s.needed = s.needed[1:]                                                      // nor was it reported
	if err := s.needs(ctx, archived, all, 0, false); err != nil {
		t.Error(err)
	}
	reports("b2", "b1")
	s.report(t)
	reports("b2")
}
