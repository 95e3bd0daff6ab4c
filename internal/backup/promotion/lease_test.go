package promotion

import (
	"testing"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// TestWatch: a promotion is found by each further look, until it is overruled. A store that does not answer is
// no store without one.
func TestWatch(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	var w Watch
	promoted := func(want bool) {
		t.Helper()
		for range 2 {
			if have, err := w.Promoted(ctx, b, dir); err != nil || have != want {
				t.Errorf("%v, %v", have, err)
			}
		}
	}
	promoted(false)
	for range 2 {
		p, err := Record(ctx, b, store.Create, dir, of("bbbbbbbb-1", "0-1-7"))
		if err != nil {
			p, err = Record(ctx, b, store.Create, dir, of("cccccccc-1", "0-1-7"))
		}
		if err != nil {
			t.Fatal(err)
		}
		promoted(true)
		if err := Overrule(ctx, b, dir, *p); err != nil {
			t.Fatal(err)
		}
		promoted(false)
	}
	away := memblob.OpenBucket(nil)
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	if have, err := w.Promoted(ctx, away, dir); err == nil {
		t.Errorf("%v of a store that does not answer", have)
	}
}

// TestAnnouncement: a lease is announced for good, and is no promotion.
func TestAnnouncement(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	if have, err := Announced(ctx, b, dir); err != nil || have {
		t.Errorf("%v, %v", have, err)
	}
	var written []string
	for range 2 {
		if err := Announce(ctx, b, dir, time.Now()); err != nil {
			t.Fatal(err)
		}
		text, err := b.ReadAll(ctx, dir+"/promotions/lease.json")
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, string(text))
	}
	if written[0] != written[1] {
		t.Errorf("written with each renewal: %v", written)
	}
	if have, err := Announced(ctx, b, dir); err != nil || !have {
		t.Errorf("%v, %v", have, err)
	}
	if p, err := Find(ctx, b, dir); err != nil || p != nil {
		t.Errorf("%+v, %v", p, err)
	}
}
