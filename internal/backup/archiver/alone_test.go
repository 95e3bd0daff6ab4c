package archiver

import (
	"errors"
	"net/http"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/store/storetest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestSingleWriter: a segment is created on the condition that there is none of its number. Where the store knows no
// condition, and has one writer, it is looked for before; it is not written over either way.
func TestSingleWriter(t *testing.T) {
	for _, alone := range []bool{false, true} {
		conditions, looks := 0, 0
		f := storetest.NewFake(t, func(r *http.Request, _ []byte, exists bool) (int, string) {
			switch {
			case r.Method == http.MethodHead:
				looks++
			case r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*":
				if conditions++; exists {
					return http.StatusPreconditionFailed, "PreconditionFailed"
				}
			}
			return 0, ""
		})
		bucket, err := store.OpenWith(t.Context(), f.Store, f.Dir)
		if err != nil {
			t.Fatal(err)
		}
		key := newStore(t).names[0]
		a, err := newArchive(bucket, task.Archive{Dir: "demo/shop/1", Recipients: []string{key}, SingleWriter: alone})
		if err != nil {
			t.Fatal(err)
		}
		if err := write(t, a, binlog.Head{Number: 1, Last: gtid(7)}, "x"); err != nil {
			t.Fatal(err)
		}
		if err := write(t, a, binlog.Head{Number: 1, Last: gtid(8)}, "y"); !errors.Is(err, errTaken) {
			t.Errorf("alone: %v: another one: %v", alone, err)
		}
		if (conditions > 0) == alone || (looks > 0) != alone {
			t.Errorf("alone: %v: %d conditions, looked for %d times", alone, conditions, looks)
		}
		h, err := store.Head(t.Context(), bucket, a.key(1))
		if err != nil || h.Last != gtid(7) || len(h.Recipients) != 1 || h.Recipients[0] != key {
			t.Errorf("alone: %v: %+v, %v", alone, h, err)
		}
		_ = bucket.Close()
	}
}

// TestIdleUnknown: a store that does not answer until when nothing was written has not answered that it is not known.
func TestIdleUnknown(t *testing.T) {
	a := newStore(t)
	if err := a.bucket.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.idle(t.Context(), place{binlog.Head{Number: 5, Last: gtid(50)}}); err == nil {
		t.Error("nothing is said of it")
	}
}

// TestHeld: a chain's beginning has all up to its seqno, another segment as far as its node has counted, and at least
// up to its last transaction. The last transaction is compared where its content, and the one before it, are known.
func TestHeld(t *testing.T) {
	head := func(change func(*binlog.Head)) place {
		h := binlog.Head{Number: 5, Last: gtid(50), BeforeLast: gtid(49), LastSum: "s", Seqno: 70, Held: 60,
			Seqnos: true, Anchors: []binlog.Anchor{{Number: 48, Seqno: 65}}}
		change(&h)
		return place{h}
	}
	for name, c := range map[string]struct {
		at    place
		held  int64
		after binlog.GTID
	}{
		"of a node":          {head(func(*binlog.Head) {}), 67, gtid(49)},
		"that counts on":     {head(func(h *binlog.Head) { h.Held = 90 }), 90, gtid(49)},
		"that begins":        {head(func(h *binlog.Head) { h.Begins, h.Held = true, 90 }), 70, gtid(49)},
		"without a content":  {head(func(h *binlog.Head) { h.LastSum = "" }), 67, gtid(50)},
		"without one before": {head(func(h *binlog.Head) { h.BeforeLast = binlog.GTID{} }), 67, gtid(50)},
	} {
		if held, after := c.at.held(), c.at.resume(); held != c.held || after != c.after {
			t.Errorf("%s: %d, after %s", name, held, after)
		}
	}
}
