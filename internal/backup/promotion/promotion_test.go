package promotion

import (
	"context"
	"errors"
	"io"
	"testing"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const dir = "prod/shop/b65191a0"

func of(uid, gtid string) task.Promotion {
	return task.Promotion{Namespace: "site", Name: "standby", UID: uid, GTID: gtid}
}

// TestFirstWins: the first of two clusters has taken over, also if both found nothing before. It may record again that
// it has less; and after its record was overruled, another one can take over.
func TestFirstWins(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	now := func(id, gtid string) {
		t.Helper()
		p, _, err := Find(ctx, b, dir)
		switch {
		case err != nil:
			t.Fatal(err)
		case (p == nil) != (id == ""), p != nil && (p.ID() != id || p.GTID != gtid):
			t.Errorf("%+v instead of %s", p, id)
		}
	}
	record := func(mine task.Promotion, create Create, id string) {
		t.Helper()
		if p, err := Record(ctx, b, create, dir, mine); err != nil || p.ID() != id {
			t.Errorf("%+v, %v instead of %s", p, err, id)
		}
	}
	now("", "")
	meanwhile := func(ctx context.Context, b *store.Bucket, key string, from io.Reader) error {
		record(of("bbbbbbbb-1", "0-1-7"), store.Create, "1-bbbbbbbb")
		return store.Create(ctx, b, key, from)
	}
	record(of("cccccccc-1", "0-1-8"), meanwhile, "1-bbbbbbbb")
	record(of("cccccccc-1", "0-1-8"), store.Create, "1-bbbbbbbb")
	record(of("bbbbbbbb-1", "0-1-7"), store.Create, "1-bbbbbbbb")
	now("1-bbbbbbbb", "0-1-7")
	record(of("bbbbbbbb-1", "0-1-5"), store.Create, "2-bbbbbbbb")
	now("2-bbbbbbbb", "0-1-5")
	p, _, err := Find(ctx, b, dir)
	if err == nil {
		err = Overrule(ctx, b, dir, *p)
	}
	if err != nil {
		t.Fatal(err)
	}
	now("", "")
	record(of("cccccccc-1", "0-1-9"), store.Create, "3-cccccccc")
	now("3-cccccccc", "0-1-9")
}

// TestUnknownIsNoPromotion: what cannot be read, listed or written is not taken for a store without a promotion, nor
// for one with it.
func TestUnknownIsNoPromotion(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	refused := errors.New("access denied")
	create := func(context.Context, *store.Bucket, string, io.Reader) error { return refused }
	if p, err := Record(ctx, b, create, dir, of("bbbbbbbb-1", "0-1-7")); p != nil || !errors.Is(err, refused) {
		t.Errorf("%+v, %v", p, err)
	}
	if err := store.Write(ctx, b, key(dir, 1, record), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if p, _, err := Find(ctx, b, dir); p != nil || err == nil {
		t.Errorf("no record: %+v", p)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if p, _, err := Find(ctx, b, dir); p != nil || err == nil {
		t.Errorf("no store: %+v", p)
	}
}
