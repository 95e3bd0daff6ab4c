package serving

import (
	"strings"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
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
	if b.record(t.Context(), away, of("bbbbbbbb-1")) {
		t.Error("recorded without a store")
	}
	if have := b.answer(t); have.Promotion != nil || !strings.Contains(have.Unrecorded, "prod/shop/b65191a0/promotions") {
		t.Errorf("%+v", have)
	}
	b.promote(t.Context(), bucket, of("bbbbbbbb-1"))
	if have := b.answer(t); have.Promotion == nil || have.Promotion.ID() != "1-bbbbbbbb" || have.Promotion.At.IsZero() ||
		have.Unrecorded != "" {
		t.Errorf("%+v", have)
	}
	if other.record(t.Context(), bucket, of("cccccccc-1")) {
		t.Error("it is not tried again, though another cluster's record counts")
	}
	have := other.answer(t)
	if have.Promotion == nil || have.Promotion.UID != "bbbbbbbb-1" {
		t.Fatalf("the second one: %+v", have)
	}
	if err := promotion.Overrule(t.Context(), bucket, of("").Dir, *have.Promotion); err != nil {
		t.Fatal(err)
	}
	if b.record(t.Context(), bucket, of("bbbbbbbb-1")) {
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
