package promotion

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
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
		p, err := Find(ctx, b, dir)
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
	p, err := Find(ctx, b, dir)
	if err == nil {
		err = Overrule(ctx, b, dir, *p)
	}
	if err != nil {
		t.Fatal(err)
	}
	now("", "")
	for range 2 {
		if p, err := Record(ctx, b, store.Create, dir, of("bbbbbbbb-1", "0-1-5")); p != nil || !errors.Is(err, ErrOverruled) {
			t.Errorf("what was overruled is recorded again: %+v, %v", p, err)
		}
	}
	record(of("cccccccc-1", "0-1-9"), store.Create, "3-cccccccc")
	now("3-cccccccc", "0-1-9")
}

// TestFollowedSince: a cluster whose record was overruled because the other one has followed it since takes over again,
// also without a token. What a person has overruled later is not recorded again, nor what another cluster has recorded.
func TestFollowedSince(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	record := func(uid, id string) task.Promotion {
		t.Helper()
		p, err := Record(ctx, b, store.Create, dir, of(uid, "0-1-7"))
		have := ""
		if err == nil {
			have = p.ID()
		} else {
			p = &task.Promotion{}
		}
		if have != id || err != nil && !errors.Is(err, ErrOverruled) {
			t.Errorf("%q, %v instead of %q", have, err, id)
		}
		return *p
	}
	overrule := func(p task.Promotion, followed bool) {
		t.Helper()
		p.Followed = followed
		if err := Overrule(ctx, b, dir, p); err != nil {
			t.Fatal(err)
		}
	}
	overrule(record("bbbbbbbb-1", "1-bbbbbbbb"), false)
	record("bbbbbbbb-1", "")
	overrule(record("cccccccc-1", "2-cccccccc"), true)
	record("bbbbbbbb-1", "")
	overrule(record("cccccccc-1", "3-cccccccc"), true)
	overrule(record("cccccccc-1", "4-cccccccc"), false)
	record("cccccccc-1", "")
	record("bbbbbbbb-1", "")
}

// TestDamagedRecord: a record that is damaged, and was overruled, keeps no cluster from taking over but the one whose
// it was. It does while nothing shows whose it was.
func TestDamagedRecord(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	var last *task.Promotion
	for _, gtid := range []string{"0-1-7", "0-1-5"} {
		var err error
		if last, err = Record(ctx, b, store.Create, dir, of("bbbbbbbb-1", gtid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Overrule(ctx, b, dir, *last); err != nil {
		t.Fatal(err)
	}
	for n, text := range map[uint64]string{1: "{}", 2: `{"uid":`} {
		if err := store.Write(ctx, b, key(dir, n, record), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := Record(ctx, b, store.Create, dir, of("bbbbbbbb-1", "0-1-5")); !errors.Is(err, ErrOverruled) {
		t.Errorf("what was overruled is recorded again: %+v, %v", p, err)
	}
	note, err := b.ReadAll(ctx, key(dir, 2, overruled))
	if err == nil {
		err = store.Write(ctx, b, key(dir, 2, overruled), []byte("x"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Record(ctx, b, store.Create, dir, of("cccccccc-1", "0-1-9")); p != nil || !errors.Is(err, errDamaged) ||
		!strings.Contains(err.Error(), "2.overruled.json") {
		t.Errorf("without knowing whose it was: %+v, %v", p, err)
	}
	if err := store.Write(ctx, b, key(dir, 2, overruled), note); err != nil {
		t.Fatal(err)
	}
	if p, err := Record(ctx, b, store.Create, dir, of("cccccccc-1", "0-1-9")); err != nil || p.ID() != "3-cccccccc" {
		t.Errorf("%+v, %v", p, err)
	}
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
	if p, err := Find(ctx, b, dir); p != nil || err == nil || strings.Contains(err.Error(), "%!") {
		t.Errorf("no record: %+v, %v", p, err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err := Find(ctx, b, dir); p != nil || err == nil {
		t.Errorf("no store: %+v", p)
	}
}

// TestOthersAreNoRecords: an object that is not named as a record is none, wherever it lies.
func TestOthersAreNoRecords(t *testing.T) {
	ctx, b := t.Context(), memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = b.Close() })
	for _, name := range []string{"x/1.json", "01.json", "+1.json", "0.json", "1", "1.json/1.json", "x/1.overruled.json",
		"18446744073709551615.overruled.json"} {
		if err := store.Write(ctx, b, dir+"/"+Directory+"/"+name, []byte(`{"uid":"dddddddd-1","gtid":"0-1-1"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := Find(ctx, b, dir); p != nil || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := Record(ctx, b, store.Create, dir, of("bbbbbbbb-1", "0-1-7")); err != nil || p.ID() != "1-bbbbbbbb" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestAnyRecordCanBeOverruled: what names no UID of Kubernetes gets an ID all the same that the API admits.
func TestAnyRecordCanBeOverruled(t *testing.T) {
	admitted := regexp.MustCompile(`^[1-9][0-9]*-[0-9a-f]{1,8}$`) // spec.overrulesPromotion
	for _, uid := range []string{"bbbbbbbb-1", "b", "BBBBBBBB-1", "../../x", "  ", "é\"}"} {
		ctx, b := t.Context(), memblob.OpenBucket(nil)
		p, err := Record(ctx, b, store.Create, dir, of(uid, "0-1-7"))
		if err != nil || !admitted.MatchString(p.ID()) {
			t.Fatalf("%q: %+v, %v", uid, p, err)
		}
		found, err := Find(ctx, b, dir)
		if err == nil {
			err = Overrule(ctx, b, dir, *found)
		}
		if err != nil || found.ID() != p.ID() {
			t.Fatalf("%q: %+v, %v", uid, found, err)
		}
		if left, err := Find(ctx, b, dir); left != nil || err != nil {
			t.Errorf("%q: %+v, %v", uid, left, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
