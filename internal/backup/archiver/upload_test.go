package archiver

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// TestPut: a segment is stored once. Another archiver's is not overwritten, and an own one that was not heard is no
// error.
func TestPut(t *testing.T) {
	ctx, a := context.Background(), newStore(t)
	if at, err := a.load(ctx); err != nil || at.Number != 0 {
		t.Fatalf("an empty store: %+v, %v", at, err)
	}
	s, err := newSpool(a.recipients)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := binlog.Head{Format: binlog.FormatVersion, Lines: []binlog.Line{line("a", 0)}, Number: 1, Last: gtid(7),
		BeforeLast: gtid(6), LastSum: "s"}
	for range 2 {
		if err := a.put(ctx, &h, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t, a, binlog.Head{Number: 1, Last: gtid(8)}, "x"); !errors.Is(err, errTaken) {
		t.Errorf("another archiver: %v", err)
	}
	at, err := a.load(ctx)
	if err != nil || at.Number != 1 || at.Last != gtid(7) || at.SHA256 == "" || at.Size == 0 || at.resume() != gtid(6) ||
		!at.verifies() {
		t.Errorf("%+v, %v", at, err)
	}
	if begun := (place{binlog.Head{Begins: true, Last: gtid(7)}}); begun.verifies() || begun.resume() != gtid(7) {
		t.Error("the beginning has no transaction to compare")
	}
}

// TestPutTime: the time that a segment has to be stored grows with its size.
func TestPutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left time.Duration
		a := newStore(t)
		a.create = func(ctx context.Context, _ *store.Bucket, _ string, _ io.Reader) error {
			by, _ := ctx.Deadline()
			left = time.Until(by)
			return nil
		}
		s, err := newSpool(a.recipients)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for size, want := range map[int64]time.Duration{0: putTime, 1 << 30: putTime + 4096*time.Second} {
			s.size = size
			if err := a.putOnce(t.Context(), 1, nil, s); err != nil || left != want {
				t.Errorf("%d bytes have %v, %v", size, left, err)
			}
		}
	})
}

// TestPutLate: what an archiver that was held up stores in the place of a lost segment is taken back. One that another
// archiver has gone on from stays.
func TestPutLate(t *testing.T) {
	for name, c := range map[string]struct {
		next func(mine string) string // what the next segment says of the one before it
		want error
	}{
		"the next one follows another": {func(string) string { return "another" }, errTaken},
		"the next one follows it":      {func(mine string) string { return mine }, nil},
	} {
		a := newStore(t)
		begins := binlog.Head{Format: binlog.FormatVersion, Lines: []binlog.Line{line("a", 0)}, Number: 1, Begins: true,
			Last: gtid(7)}
		mine := begins
		if _, err := mine.Encode(); err != nil {
			t.Fatal(err)
		}
		if err := write(t, a, binlog.Head{Number: 2, Before: c.next(mine.Checksum), Last: gtid(8)}, "x"); err != nil {
			t.Fatal(err)
		}
		err := a.put(t.Context(), &begins, nil)
		exists, existsErr := a.bucket.Exists(t.Context(), a.key(1))
		if !errors.Is(err, c.want) || existsErr != nil || exists != (c.want == nil) {
			t.Errorf("%s: %v, is there %v, %v", name, err, exists, existsErr)
		}
	}
}
