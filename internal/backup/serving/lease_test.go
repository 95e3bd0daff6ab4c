package serving

import (
	"strings"
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/lease"
)

// TestTakingOverFromALease: a cluster that takes over is recorded at once, and the operator does not learn of that
// before the lease of the other one has ended, which is counted from when this program has seen the record.
func TestTakingOverFromALease(t *testing.T) {
	t.Parallel()
	ctx, bucket := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	const dir = "prod/shop/b65191a0"
	of := task.Recording{Promotion: task.Promotion{UID: "bbbbbbbb-1", GTID: "0-1-7"}}
	if err := promotion.Announce(ctx, bucket, dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	now := time.Hour
	program := func() recorder {
		return recorder{board: &board{taker: taker{clock: func() time.Duration { return now }}}, bucket: bucket,
			dir: dir}
	}
	recorded := func(b recorder, want bool) {
		t.Helper()
		done, decided := b.record(ctx, of)
		have := b.answer(t)
		if done != want || decided != want || (have.Promotion != nil) != want || have.Unrecorded != "" ||
			have.Waits == want {
			t.Errorf("%v, %+v", done, have)
		}
	}
	b := program()
	recorded(b, false)
	if p, err := promotion.Find(ctx, bucket, dir); err != nil || p == nil || p.UID != "bbbbbbbb-1" {
		t.Fatalf("not recorded at once: %+v, %v", p, err)
	}
	now += lease.Wait - 1
	recorded(b, false)
	again := program()
	recorded(again, false)
	now++
	recorded(b, true)
	recorded(again, false)
	now += lease.Wait
	recorded(again, true)
	alone := program()
	of.SingleWriter = true
	done, _ := alone.record(ctx, of)
	if have := alone.answer(t); done || !strings.Contains(have.Unrecorded, "this store is of singleWriter") {
		t.Errorf("%+v", have)
	}
}

// TestStoreIsLostWhileALeaseEnds: a cluster whose record counts accepts writes once the lease of the other one has
// ended, whatever has become of the store. One that was overruled meanwhile does not.
func TestStoreIsLostWhileALeaseEnds(t *testing.T) {
	t.Parallel()
	ctx, bucket, away := t.Context(), memblob.OpenBucket(nil), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	const dir = "prod/shop/b65191a0"
	of := task.Recording{Promotion: task.Promotion{UID: "bbbbbbbb-1", GTID: "0-1-7"}}
	if err := promotion.Announce(ctx, bucket, dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	now := time.Hour
	b := recorder{board: &board{taker: taker{clock: func() time.Duration { return now }}}, bucket: away, dir: dir}
	step := func(want bool, says string) {
		t.Helper()
		done, _ := b.record(ctx, of)
		have := b.answer(t)
		if done != want || (have.Promotion != nil) != want || (says == "") != (have.Unrecorded == "") ||
			!strings.Contains(have.Unrecorded, says) {
			t.Errorf("%v, %+v", done, have)
		}
	}
	step(false, "nothing was recorded")
	b.bucket = bucket
	step(false, "")
	b.bucket = away
	step(false, "")
	now += lease.Wait
	step(true, "")
	p, err := promotion.Find(ctx, bucket, dir)
	if err == nil {
		err = promotion.Overrule(ctx, bucket, dir, *p)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.bucket = bucket
	step(false, "it had recorded that")
}
