package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki"
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
	const dir = "prod/shop/b65191a0"
	of := func(uid string) task.Recording {
		return task.Recording{Promotion: task.Promotion{UID: uid, GTID: "0-1-7"}}
	}
	b, other := recorder{board: &board{}, bucket: away, dir: dir}, recorder{board: &board{}, bucket: bucket, dir: dir}
	if done, decided := b.record(t.Context(), of("bbbbbbbb-1")); done || decided {
		t.Error("recorded without a store, or given up")
	}
	if have := b.answer(t); have.Promotion != nil || !strings.Contains(have.Unrecorded, dir+"/promotions") {
		t.Errorf("%+v", have)
	}
	b.bucket = bucket
	if done, _ := b.record(t.Context(), of("bbbbbbbb-1")); !done {
		t.Error("it is tried again, though it is recorded")
	}
	if have := b.answer(t); have.Promotion == nil || have.Promotion.ID() != "1-bbbbbbbb" || have.Promotion.At.IsZero() ||
		have.Unrecorded != "" {
		t.Errorf("%+v", have)
	}
	if done, decided := other.record(t.Context(), of("cccccccc-1")); done || !decided {
		t.Error("it is not tried again, or as often as before, though another cluster's record counts")
	}
	have := other.answer(t)
	if have.Promotion == nil || have.Promotion.UID != "bbbbbbbb-1" {
		t.Fatalf("the second one: %+v", have)
	}
	if err := promotion.Overrule(t.Context(), bucket, dir, *have.Promotion); err != nil {
		t.Fatal(err)
	}
	if done, decided := b.record(t.Context(), of("bbbbbbbb-1")); done || !decided {
		t.Error("recorded again though it was overruled")
	}
	if have := b.answer(t); have.Promotion != nil || !strings.Contains(have.Unrecorded, "a person has overruled there") ||
		strings.Contains(have.Unrecorded, "tried again") {
		t.Errorf("%+v", have)
	}
	if done, _ := other.record(t.Context(), of("cccccccc-1")); !done {
		t.Error("not recorded after the first one was overruled")
	}
	if have := other.answer(t); have.Promotion == nil || have.Promotion.ID() != "2-cccccccc" {
		t.Errorf("after the first one was overruled: %+v", have)
	}
}

// TestLostPromotionIsLookedAt: while another cluster's record counts, the store is asked less and less often, and
// within a minute after a person has overruled it. A store that is away is asked every few seconds.
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
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lost := recorder{board: &board{}, bucket: bucket, dir: dir}
		go lost.run(ctx, task.Serve{Promotion: &task.Promotion{UID: "cccccccc-1", GTID: "0-1-7"}})
		time.Sleep(time.Hour)
		if err := promotion.Overrule(t.Context(), bucket, dir, *counts); err != nil {
			t.Fatal(err)
		}
		overruled := time.Now()
		for lost.answer(t).Promotion.UID != "cccccccc-1" && time.Since(overruled) < time.Hour {
			time.Sleep(time.Second)
		}
		if after := time.Since(overruled); after > maxRetry {
			t.Errorf("it was found after %s", after)
		}
		_ = bucket.Close()
	})
}

// TestATokenNeedsAStoreThatDecides: nothing is recorded with a token where two clusters could make the same record, nor
// while the archive, as it is then, does not end with its transaction.
func TestATokenNeedsAStoreThatDecides(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	end, sum, known, unlike := "0-1-7", "other", error(nil), ""
	of := task.Recording{SingleWriter: true, Segment: 3, Checksum: "sum 3",
		Promotion: task.Promotion{Number: 1, UID: "bbbbbbbb-1", GTID: "0-1-7"}}
	b := recorder{board: &board{}, bucket: bucket, dir: "prod/shop/b65191a0", line: "h/a",
		end: func(_ context.Context, n uint64) (binlog.Head, string, error) {
			return endsAt(end), fmt.Sprint(sum, " ", n), known
		},
		unlike: func(context.Context, binlog.Head) (string, error) { return unlike, known }}
	b.now.GTID = "0-1-7" // as it was read before
	refused := func(says string) {
		t.Helper()
		if done, _ := b.record(t.Context(), of); done || !strings.Contains(b.unrecorded, says) || b.promotion != nil {
			t.Errorf("%q, %+v", b.unrecorded, b.promotion)
		}
	}
	refused("singleWriter")
	of.SingleWriter = false
	refused("have to use one store")
	sum, end = "sum", "0-1-8"
	refused("the archive ends with 0-1-8")
	end, known = "0-1-7", errors.New("away")
	refused("could not be read: away")
	known, unlike = nil, "it is another one in the archive"
	refused("it is another one in the archive")
	unlike, of.Ahead = "", "0-1-8"
	refused("this cluster has 0-1-8, and spec.cutover.token is of 0-1-7")
	of.Ahead = ""
	if done, _ := b.record(t.Context(), of); !done || b.promotion.Number != 1 || b.promotion.Line != "h/a" ||
		b.promotion.Alone || !b.promotion.Compared {
		t.Errorf("%q, %+v", b.unrecorded, b.promotion)
	}
	end, of.Ahead = "0-1-9", "0-1-9"
	if done, _ := b.record(t.Context(), of); !done || b.promotion.UID != "bbbbbbbb-1" {
		t.Errorf("what is recorded is forgotten: %q, %+v", b.unrecorded, b.promotion)
	}
}

// endsAt is the head of the last segment of an archive that ends with a transaction.
func endsAt(gtid string) binlog.Head {
	last, _ := binlog.Parse(gtid)
	return binlog.Head{Last: last}
}

// alike is an archive that has the follower's transactions.
func alike(context.Context, binlog.Head) (string, error) { return "", nil }

// TestATokenAfterAnEarlierOne: the own record of an earlier token, which a late listing does not show as overruled, is
// not the one that is to be made, which is tried again until it is.
func TestATokenAfterAnEarlierOne(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	const dir = "prod/shop/b65191a0"
	earlier := task.Promotion{Number: 1, UID: "bbbbbbbb-1", GTID: "0-1-5"}
	if _, err := promotion.Record(t.Context(), bucket, store.Create, dir, earlier); err != nil {
		t.Fatal(err)
	}
	b := recorder{board: &board{taker: taker{own: &earlier}}, bucket: bucket, dir: dir, unlike: alike,
		end: func(context.Context, uint64) (binlog.Head, string, error) { return endsAt("0-1-7"), "", nil }}
	of := task.Recording{Promotion: task.Promotion{Number: 2, UID: "bbbbbbbb-1", GTID: "0-1-7"}}
	done, decided := b.record(t.Context(), of)
	if have := b.answer(t); done || decided || have.Promotion != nil ||
		!strings.Contains(have.Unrecorded, "with another token before (1-bbbbbbbb)") {
		t.Errorf("%v, %v, %+v", done, decided, have)
	}
	earlier.Followed = true
	if err := promotion.Overrule(t.Context(), bucket, dir, earlier); err != nil {
		t.Fatal(err)
	}
	done, _ = b.record(t.Context(), of)
	if have := b.answer(t); !done || have.Promotion == nil || have.Promotion.ID() != "2-bbbbbbbb" {
		t.Errorf("%v, %+v", done, have)
	}
}

// TestWhatIsNotComparedIsNotRecordedAs: a record with a token that is there already, as of an earlier release, stays as
// it is, and one without a token does not state that anything was compared, whatever is asked for.
func TestWhatIsNotComparedIsNotRecordedAs(t *testing.T) {
	for _, number := range []uint64{0, 1} {
		bucket := memblob.OpenBucket(nil)
		t.Cleanup(func() { _ = bucket.Close() })
		const dir = "prod/shop/b65191a0"
		mine := task.Promotion{Number: number, UID: "bbbbbbbb-1", GTID: "0-1-7"}
		if number > 0 {
			if _, err := promotion.Record(t.Context(), bucket, store.Create, dir, mine); err != nil {
				t.Fatal(err)
			}
		}
		b := recorder{board: &board{}, bucket: bucket, dir: dir, unlike: alike,
			end: func(context.Context, uint64) (binlog.Head, string, error) { return endsAt("0-1-7"), "", nil }}
		mine.Compared = true
		done, _ := b.record(t.Context(), task.Recording{Promotion: mine})
		counts, err := promotion.Find(t.Context(), bucket, dir)
		if err != nil || !done || counts == nil || counts.Alone != (number == 0) || counts.Compared ||
			b.promotion == nil || b.promotion.Compared {
			t.Errorf("number %d: %v, %+v, %+v, %v", number, done, counts, b.promotion, err)
		}
	}
}

// TestATokenThatWasTakenBack: that is answered, and not that the archive goes on, as it does since.
func TestATokenThatWasTakenBack(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	const dir = "prod/shop/b65191a0"
	if _, err := promotion.Record(t.Context(), bucket, store.Create, dir, task.Promotion{Number: 1, UID: "b65191a0-1",
		GTID: "0-1-7", Withdrawn: true}); err != nil {
		t.Fatal(err)
	}
	b := recorder{board: &board{}, bucket: bucket, dir: dir,
		end: func(context.Context, uint64) (binlog.Head, string, error) { return endsAt("0-1-9"), "sum", nil }}
	done, _ := b.record(t.Context(), task.Recording{Segment: 3, Checksum: "sum", Promotion: task.Promotion{Number: 1,
		UID: "bbbbbbbb-1", GTID: "0-1-7"}})
	if have := b.answer(t); done || have.Promotion == nil || !have.Promotion.Withdrawn || have.Unrecorded != "" {
		t.Errorf("%+v", have)
	}
}

// TestTheOperatorAsks: the program records with a token as soon as the operator asks for it, and answers with the
// record. It believes only who shows its own certificate.
func TestTheOperatorAsks(t *testing.T) { synctest.Test(t, theOperatorAsks) }

func theOperatorAsks(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	own, stranger := newPair(t), newPair(t)
	end := "0-1-8"
	b := &board{woken: make(chan struct{}, 1),
		pair: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return own, nil }}
	r := recorder{board: b, bucket: bucket, dir: "prod/shop/b65191a0",
		end: func(context.Context, uint64) (binlog.Head, string, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return endsAt(end), "", nil
		}, unlike: alike}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { r.run(ctx, task.Serve{}) })
	synctest.Wait() // it has nothing to do
	answer := func(shows *tls.Certificate, asks string) (out task.Served) {
		t.Helper()
		w, of := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, task.PathServed, nil)
		if of.Header.Set(task.HeaderAsks, asks); shows != nil {
			of.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{shows.Leaf}}
		}
		b.ServeHTTP(w, of)
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	const asks = `{"number":4,"namespace":"site","name":"standby","uid":"bbbbbbbb-1","gtid":"0-1-7"}`
	for _, who := range []*tls.Certificate{nil, stranger} {
		if have := answer(who, asks); have.Promotion != nil || have.Unrecorded != "" || b.asked != nil {
			t.Errorf("a stranger is believed: %+v", have)
		}
	}
	if have := answer(own, strings.Replace(asks, "4", "1", 1)); !strings.Contains(have.Unrecorded, "ends with 0-1-8") {
		t.Errorf("%+v", have)
	}
	b.mu.Lock()
	end = "0-1-7"
	b.mu.Unlock()
	if have := answer(own, `{"number":2,"uid":"bbbbbbbb-1","gtid":"0-1-7"}`); have.Promotion != nil ||
		!strings.Contains(have.Unrecorded, "lacks the records before the number 2") {
		t.Errorf("another token: %+v", have)
	}
	if have := answer(own, strings.Replace(asks, "4", "1", 1)); have.Promotion == nil ||
		have.Promotion.ID() != "1-bbbbbbbb" {
		t.Errorf("%+v", have)
	}
	if have := answer(own, ""); have.Promotion == nil || b.asked != nil {
		t.Errorf("nothing is asked any more, and the record is forgotten: %+v", have)
	}
}

// TestTheOperatorAsksNoMore: what the operator has asked for is recorded while it repeats that, and not long after it
// has stopped: spec.cutover may have been removed since.
func TestTheOperatorAsksNoMore(t *testing.T) { synctest.Test(t, theOperatorAsksNoMore) }

func theOperatorAsksNoMore(t *testing.T) {
	bucket := memblob.OpenBucket(nil)
	t.Cleanup(func() { _ = bucket.Close() })
	const dir, asks = "prod/shop/b65191a0", `{"number":1,"uid":"bbbbbbbb-1","gtid":"0-1-7"}`
	var ends atomic.Bool
	r := recorder{board: &board{woken: make(chan struct{}, 1)}, bucket: bucket, dir: dir,
		end: func(context.Context, uint64) (binlog.Head, string, error) {
			if ends.Load() {
				return endsAt("0-1-7"), "", nil
			}
			return endsAt("0-1-8"), "", nil
		}, unlike: alike}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { r.run(ctx, task.Serve{}) })
	recorded := func(want bool) {
		t.Helper()
		if p, err := promotion.Find(ctx, bucket, dir); err != nil || (p != nil) != want {
			t.Errorf("%+v, %v", p, err)
		}
	}
	r.hear(asks)
	time.Sleep(askedTime + recordRetry)
	ends.Store(true)
	time.Sleep(time.Hour)
	recorded(false)
	ends.Store(false)
	for i := range 20 {
		r.hear(asks)
		if have := r.answer(t); i > 0 && !strings.Contains(have.Unrecorded, "ends with 0-1-8") {
			t.Errorf("after %d questions it begins anew: %+v", i, have)
		}
		time.Sleep(askedTime - time.Second)
	}
	ends.Store(true)
	r.hear(asks)
	time.Sleep(2 * recordRetry)
	recorded(true)
}

func newPair(t *testing.T) *tls.Certificate {
	t.Helper()
	cert, key, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), sourceName)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}
