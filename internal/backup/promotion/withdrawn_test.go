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

// TestOneOfTwoWins: a cluster takes over with the number of a token, or the one that has given it takes it back; not
// both, in whichever order they come. What was taken back is no promotion, and later ones have later numbers.
func TestOneOfTwoWins(t *testing.T) {
	ctx := t.Context()
	take := task.Promotion{Number: 1, Namespace: "site", Name: "standby", UID: "bbbbbbbb-1", GTID: "0-1-7"}
	back := task.Promotion{Number: 1, Namespace: "prod", Name: "shop", UID: "aaaaaaaa-1", GTID: "0-1-7", Withdrawn: true}
	for name, order := range map[string][2]task.Promotion{"taken": {take, back}, "taken back": {back, take}} {
		for _, atOnce := range []bool{false, true} {
			b := memblob.OpenBucket(nil)
			t.Cleanup(func() { _ = b.Close() })
			record := func(mine task.Promotion, create Create) {
				t.Helper()
				p, err := Record(ctx, b, create, dir, mine)
				if err != nil || p.UID != order[0].UID || p.Withdrawn != order[0].Withdrawn || p.Number != 1 {
					t.Errorf("%s: %+v, %v", name, p, err)
				}
			}
			create := store.Create
			if atOnce {
				create = func(ctx context.Context, b *store.Bucket, key string, from io.Reader) error {
					record(order[0], store.Create)
					return store.Create(ctx, b, key, from)
				}
			} else {
				record(order[0], store.Create)
			}
			record(order[1], create)
			record(order[1], store.Create)
			record(order[0], store.Create)
			now, next, err := Latest(ctx, b, dir)
			if err != nil || next != 2 || (now == nil) != order[0].Withdrawn {
				t.Errorf("%s: %+v, %d, %v", name, now, next, err)
			}
		}
	}
}

// TestTokenOfAnotherStore: a number is used with the records before it, or not at all, nor again after it was
// overruled.
func TestTokenOfAnotherStore(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	take := of("bbbbbbbb-1", "0-1-7")
	take.Number = 2
	if p, err := Record(ctx, b, store.Create, dir, take); err == nil {
		t.Errorf("%+v", p)
	}
	take.Number = 1
	p, err := Record(ctx, b, store.Create, dir, take)
	if _, next, found := Latest(ctx, b, dir); found != nil || next != 2 {
		t.Errorf("a record with a later number was made: the next one is %d, %v", next, found)
	}
	if err == nil {
		err = Overrule(ctx, b, dir, *p)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Record(ctx, b, store.Create, dir, take); err == nil {
		t.Errorf("overruled: %+v", p)
	}
}

// TestTokenOfADamagedRecord: a record that is damaged, and was overruled, is no reason to wait: its number was used.
func TestTokenOfADamagedRecord(t *testing.T) {
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	if err := store.Write(t.Context(), b, key(dir, 1, record), []byte("{")); err != nil {
		t.Fatal(err)
	}
	back := task.Promotion{Number: 1, UID: first, GTID: "0-1-7", Withdrawn: true}
	if _, err := Record(t.Context(), b, store.Create, dir, back); err == nil || errors.Is(err, ErrOverruled) {
		t.Errorf("it counts: %v", err)
	}
	if err := Overrule(t.Context(), b, dir, task.Promotion{Number: 1, UID: second, GTID: "0-1-7"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Record(t.Context(), b, store.Create, dir, back); !errors.Is(err, ErrOverruled) {
		t.Errorf("%v", err)
	}
}
