package archiver

import (
	"context"
	"errors"
	"io"
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
	with := func(t task.Archive) promotions { return promotions{a, b, t, store.Create} }
	p := with(task.Archive{})
	finds := func(p promotions, want string) {
		t.Helper()
		if err := p.once(ctx); err != nil {
			t.Fatal(err)
		}
		have := ""
		if b.now.Promotion != nil {
			have = b.now.Promotion.ID()
		}
		if b.now.Unrecorded != "" || have != want || (b.superseded() != "") != (want != "") {
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
	if err := p.once(ctx); err == nil || b.now.Promotion == nil || b.now.Unrecorded != err.Error() {
		t.Errorf("%v, %+v", err, b.now)
	}
	a.bucket = there
	finds(with(task.Archive{Overrules: "2-bbbbbbbb"}), "1-bbbbbbbb")
	finds(with(task.Archive{Replaced: "1-bbbbbbbb"}), "")
	finds(p, "")
	if again, err := promotion.Record(ctx, a.bucket, store.Create, a.cluster, mine); err != nil || again.Number != 2 {
		t.Errorf("the cluster that was followed since cannot take over again: %+v, %v", again, err)
	}
	finds(with(task.Archive{Replaced: "1-bbbbbbbb"}), "2-bbbbbbbb")
	finds(with(task.Archive{Overrules: "2-bbbbbbbb", Replaced: "1-bbbbbbbb"}), "")
	if _, err := promotion.Record(ctx, a.bucket, store.Create, a.cluster, mine); !errors.Is(err, promotion.ErrOverruled) {
		t.Errorf("a person has overruled that: %v", err)
	}
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

// TestTokenIsWithdrawn: what is taken back is reported once the store has it, unless another cluster was first.
func TestTokenIsWithdrawn(t *testing.T) {
	ctx, a, b := t.Context(), newStore(t), &board{}
	back := &task.Promotion{Number: 1, Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1", GTID: "0-1-7", Withdrawn: true}
	create := store.Create
	finds := func(withdraws *task.Promotion, next, withdrawn uint64, promoted string) {
		t.Helper()
		if err := (promotions{a, b, task.Archive{Withdraws: withdraws}, create}).once(ctx); err != nil {
			t.Fatal(err)
		}
		have := ""
		if b.now.Promotion != nil {
			have = b.now.Promotion.ID()
		}
		if b.now.Next != next || b.now.Withdrawn != withdrawn || have != promoted {
			t.Errorf("%+v instead of %d, %d, %q", b.now, next, withdrawn, promoted)
		}
	}
	finds(nil, 1, 0, "")
	finds(back, 2, 1, "")
	finds(back, 2, 1, "")
	finds(nil, 2, 0, "")
	take := task.Promotion{Number: 2, Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-7"}
	create = func(ctx context.Context, b *store.Bucket, key string, from io.Reader) error {
		if _, err := promotion.Record(ctx, b, store.Create, a.cluster, take); err != nil {
			t.Fatal(err)
		}
		return store.Create(ctx, b, key, from)
	}
	again := *back
	again.Number = 2
	finds(&again, 2, 0, "2-bbbbbbbb") // it was a moment faster
	finds(&again, 3, 0, "2-bbbbbbbb")
	take.Number = 2
	if err := promotion.Overrule(ctx, a.bucket, a.cluster, take); err != nil {
		t.Fatal(err)
	}
	create = store.Create
	finds(&again, 3, 2, "") // no one can use it any more
}
