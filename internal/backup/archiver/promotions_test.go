package archiver

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestPromotionIsFound: another cluster that has taken over is reported, and stays so while the store does not answer.
// No segment is removed meanwhile. It does not count any more once a person has overruled it, also for later runs.
func TestPromotionIsFound(t *testing.T) {
	ctx, a, b := t.Context(), newStore(t), &board{}
	mine := task.Promotion{Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-7"}
	p := promotions{a, b, ""}
	finds := func(p promotions, want string) {
		t.Helper()
		if err := p.once(ctx); err != nil {
			t.Fatal(err)
		}
		have := ""
		if b.now.Promotion != nil {
			have = b.now.Promotion.ID()
		}
		if have != want || (b.superseded() != "") != (want != "") {
			t.Errorf("%q, %q instead of %q", have, b.superseded(), want)
		}
	}
	finds(p, "")
	if _, err := promotion.Record(ctx, a.bucket, store.Create, a.cluster, mine); err != nil {
		t.Fatal(err)
	}
	finds(p, "1-bbbbbbbb")
	there := a.bucket
	a.bucket = memblob.OpenBucket(nil)
	if err := a.bucket.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.once(ctx); err == nil || b.now.Promotion == nil {
		t.Errorf("%v, %+v", err, b.now)
	}
	a.bucket = there
	finds(promotions{a, b, "2-bbbbbbbb"}, "1-bbbbbbbb")
	finds(promotions{a, b, "1-bbbbbbbb"}, "")
	finds(p, "")
}

// TestNothingIsRemovedAfterAPromotion: what another cluster lacks stays, also where a backup makes it needless.
func TestNothingIsRemovedAfterAPromotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, a := context.Background(), newStore(t)
		now := time.Now().UTC()
		tenFrom(t, a, now.Add(-time.Hour), time.Minute)
		backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: now.Add(-time.Minute)})
		s := surveying(a, time.Hour)
		s.reports.now.Promotion = &task.Promotion{Namespace: "site", Name: "standby", GTID: "0-1-5"}
		for range int(4 * doomedTime / pruneEvery) {
			time.Sleep(pruneEvery)
			s.report(t)
		}
		left, err := a.list(ctx, a.dir+"/")
		if err != nil || len(left) != 5 || !strings.Contains(s.reports.now.Kept, "site/standby has taken over") {
			t.Errorf("%v, %v, %q", left, err, s.reports.now.Kept)
		}
	})
}
