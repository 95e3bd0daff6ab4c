package archiver

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// TestIncrements: an increment is a base as a full backup is, as long as the store has all that it adds to. Without it
// nothing is removed.
func TestIncrements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newStore(t)
		ten(t, a)
		now := time.Now().UTC()
		full := manifest.Manifest{ID: "b1", LSN: 5, CompletedAt: now.Add(-3 * time.Hour)} // before the binary log
		backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-25", CompletedAt: now.Add(-2 * time.Hour),
			Base: &manifest.Base{ID: "b1", LSN: 5, Depth: 1, Checksum: backup(t, a, full)}})
		s := surveying(a, 24*time.Hour)
		if r := s.report(t); r.Base != "b2" || r.Kept != "" {
			t.Errorf("%+v", r)
		}
		if same, err := s.bases.same(t.Context(), []policy.Base{{ID: "b2"}}, 0); same || err != nil {
			t.Errorf("another base: %v", err)
		}
		base := policy.BaseOf(s.bases.known["b2"].Manifest, 0)
		if same, err := s.bases.same(t.Context(), []policy.Base{base}, 0); !same || err != nil {
			t.Errorf("%v", err)
		}
		exchanged := full
		exchanged.Node = "another"
		backup(t, a, exchanged)
		if same, err := s.bases.same(t.Context(), []policy.Base{base}, 0); same || err != nil {
			t.Errorf("with another full backup: %v", err)
		}
		if r := s.report(t); r.Base != "" || !strings.Contains(r.Kept, "b2 cannot be added to b1: the manifest of that "+
			"backup is another one") {
			t.Errorf("with another full backup: %+v", r)
		}
		backup(t, a, full)
		if same, err := s.bases.same(t.Context(), []policy.Base{base}, 0); !same || err != nil {
			t.Errorf("with the full backup again: %v", err)
		}
		if err := a.bucket.Delete(t.Context(), "demo/shop/1/b1/"+manifest.Name); err != nil {
			t.Fatal(err)
		}
		if same, err := s.bases.same(t.Context(), []policy.Base{base}, 0); same || err != nil {
			t.Errorf("without the full backup: %v", err)
		}
		if r := s.report(t); r.Base != "" || !strings.Contains(r.Kept, "is an increment of b1") {
			t.Errorf("without the full backup: %+v", r)
		}
	})
}
