package serving

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestPromotionIsReported: the operator is answered which promotion counts, and only once that is known. A cluster that
// another one was faster than takes over once a person has overruled that one, which records nothing any more.
func TestPromotionIsReported(t *testing.T) {
	t.Parallel()
	bucket, away := memblob.OpenBucket(nil), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	of := func(uid string) task.Serve {
		return task.Serve{Dir: "prod/shop/b65191a0", Promotion: &task.Promotion{UID: uid, GTID: "0-1-7"}}
	}
	b, other := &board{}, &board{}
	if done, decided := b.record(t.Context(), away, of("bbbbbbbb-1")); done || decided {
		t.Error("recorded without a store, or given up")
	}
	if have := b.answer(t); have.Promotion != nil || !strings.Contains(have.Unrecorded, "prod/shop/b65191a0/promotions") {
		t.Errorf("%+v", have)
	}
	b.promote(t.Context(), bucket, of("bbbbbbbb-1"))
	if have := b.answer(t); have.Promotion == nil || have.Promotion.ID() != "1-bbbbbbbb" || have.Promotion.At.IsZero() ||
		have.Unrecorded != "" {
		t.Errorf("%+v", have)
	}
	if done, decided := other.record(t.Context(), bucket, of("cccccccc-1")); done || !decided {
		t.Error("it is not tried again, or as often as before, though another cluster's record counts")
	}
	have := other.answer(t)
	if have.Promotion == nil || have.Promotion.UID != "bbbbbbbb-1" {
		t.Fatalf("the second one: %+v", have)
	}
	if err := promotion.Overrule(t.Context(), bucket, of("").Dir, *have.Promotion); err != nil {
		t.Fatal(err)
	}
	if done, decided := b.record(t.Context(), bucket, of("bbbbbbbb-1")); done || !decided {
		t.Error("recorded again though it was overruled")
	}
	if have := b.answer(t); have.Promotion != nil || !strings.Contains(have.Unrecorded, "a person has overruled there") ||
		strings.Contains(have.Unrecorded, "tried again") {
		t.Errorf("%+v", have)
	}
	other.promote(t.Context(), bucket, of("cccccccc-1"))
	if have := other.answer(t); have.Promotion == nil || have.Promotion.ID() != "2-cccccccc" {
		t.Errorf("after the first one was overruled: %+v", have)
	}
}

// TestLostPromotionIsLookedAt: while another cluster's record counts, the store is asked less and less often, and within
// a minute after a person has overruled it. A store that is away is asked every few seconds.
func TestLostPromotionIsLookedAt(t *testing.T) {
	var pause time.Duration
	for _, want := range []time.Duration{recordRetry, 2 * recordRetry, 4 * recordRetry, 8 * recordRetry, maxRetry,
		maxRetry} {
		if pause = retryAfter(pause, true); pause != want {
			t.Errorf("%s instead of %s", pause, want)
		}
	}
	for _, before := range []time.Duration{0, maxRetry} {
		if pause := retryAfter(before, false); pause != recordRetry {
			t.Errorf("without a store, after %s: %s", before, pause)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		bucket, first := memblob.OpenBucket(nil), task.Promotion{UID: "bbbbbbbb-1", GTID: "0-1-7"}
		const dir = "prod/shop/b65191a0"
		counts, err := promotion.Record(t.Context(), bucket, store.Create, dir, first)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			(&board{}).promote(t.Context(), bucket, task.Serve{Dir: dir, Promotion: &task.Promotion{UID: "cccccccc-1",
				GTID: "0-1-7"}})
			close(done)
		}()
		time.Sleep(time.Hour)
		if err := promotion.Overrule(t.Context(), bucket, dir, *counts); err != nil {
			t.Fatal(err)
		}
		overruled := time.Now()
		<-done
		if after := time.Since(overruled); after > maxRetry {
			t.Errorf("it was found after %s", after)
		}
		_ = bucket.Close()
	})
}
