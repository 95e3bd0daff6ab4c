package archiver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// TestNothingFollows: what a node answers that is asked for what follows a transaction.
func TestNothingFollows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *server)
		want   policy.Answer
		own    bool
	}{
		"nothing":                      {func(*server) {}, policy.Lacks, true},
		"nothing, in a copy":           {func(s *server) { s.since = 8 }, policy.Lacks, false},
		"its agent does not report it": {func(s *server) { s.since = 0 }, policy.Unknown, false},
		"a transaction":                {func(s *server) { s.log = append(s.log, complete(8, "row")...) }, policy.Has, false},
		"another one in its place": {func(s *server) {
			s.log = append(s.log[:len(s.log)-3], complete(7, "other")...)
		}, policy.Differs, false},
		"another one, and more": {func(s *server) {
			s.log = append(append(s.log[:len(s.log)-3], complete(7, "other")...), complete(8, "row")...)
		}, policy.Differs, false},
		"it numbers lower":                 {func(s *server) { s.log = s.log[:len(s.log)-3] }, policy.Differs, false},
		"it has purged its binary log":     {func(s *server) { s.purged = 7 }, policy.Purged, false},
		"it is away":                       {func(s *server) { s.down = context.Canceled }, policy.Unknown, false},
		"it gives nothing for a long time": {func(s *server) { s.silent = true }, policy.Unknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.stop()
				w.commit(6, 7)
				at, err := w.a.position(context.Background())
				sum, err2 := contentOf(context.Background(), w.a, at)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				w.b.do(func() { c.change(w.b) })
				got, _ := lacks(context.Background(), w.b, gtid(6), known{gtid(7), sum, 7}, known{})
				if got.Answer != c.want || got.Own != c.own || got.Near {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestHeldByAnother: up to which seqno the archive has everything is shown by a node that was compared, or that ends
// with the same transaction. One that numbers lower has another one of that number, or none.
func TestHeldByAnother(t *testing.T) {
	other := func(_ *reader, b *server) { b.log = append(b.log[:len(b.log)-3], complete(7, "other")...) }
	for name, c := range map[string]struct {
		change func(r *reader, b *server)
		want   int64
	}{
		"it ends with the same one":   {func(*reader, *server) {}, 20},
		"it ends with another one":    {other, 7},
		"it ends with the one before": {func(_ *reader, b *server) { b.log = b.log[:len(b.log)-3] }, 7},
		"it has purged it":            {func(_ *reader, b *server) { b.purged = 7 }, 7},
		"it was compared": {func(r *reader, b *server) {
			other(r, b)
			r.numbers.nodes[0].known = true
		}, 20},
		"what the last one is is not known": {func(r *reader, _ *server) { r.sum = "" }, 7},
		"there is no other node":            {func(r *reader, _ *server) { r.all.synced = r.all.synced[:1] }, 20},
	} {
		play(t, func(w *world) {
			w.stop()
			w.commit(6, 7)
			ctx, r := context.Background(), reading(w.a, w.b, w.c)
			at, err := w.a.position(ctx)
			sum, err2 := contentOf(ctx, w.a, at)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			r.last, r.before, r.sum, r.held, r.past, r.store = gtid(7), gtid(6), sum, 7, 20, newStore(t)
			h := binlog.Head{Number: 1, Last: gtid(7)}
			if err := r.store.put(ctx, &h, nil); err != nil {
				t.Fatal(err)
			}
			r.at = place{h}
			w.b.do(func() { c.change(r, w.b) })
			_, err = r.confirmed(ctx, gtid(7))
			err = errors.Join(err, r.flush(ctx, time.Now()))
			have, err2 := r.store.idle(ctx, r.at)
			if err != nil || err2 != nil || r.held != c.want || have.Held != c.want {
				t.Errorf("%s: %d, %+v, %v", name, r.held, have, errors.Join(err, err2))
			}
		})
	}
}

// complete is what a server has logged of a transaction.
func complete(number uint64, row string) (out []logged) {
	all := transaction(gtid(number), row)
	for i, e := range all {
		out = append(out, logged{event: e, gtid: gtid(number), last: i == len(all)-1})
	}
	return out
}

// TestAskedOwn: the binary log of the node that is followed counts as its own if it has written the last transaction
// and was not started since, or if that is known to be its transaction of that number, or there is no node to compare
// with.
func TestAskedOwn(t *testing.T) {
	for name, c := range map[string]struct {
		sure, near, alone bool
		since             int64
		want              bool
	}{
		"it is its transaction":        {true, false, false, 7, true},
		"it is not known to be":        {false, false, false, 7, false},
		"there is no other node":       {false, false, true, 7, true},
		"it was a copy":                {true, false, false, 8, false},
		"it has written it":            {true, true, false, 8, true},
		"it has written it, unnoted":   {true, true, false, 0, true},
		"its agent does not report it": {true, false, false, 0, false},
	} {
		play(t, func(w *world) {
			w.commit(6, 7)
			w.a.do(func() { w.a.since = c.since })
			at, err := w.a.position(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			r := &reader{archiver: &archiver{held: 7}, node: w.a, at0: at, last: gtid(7), before: gtid(6), sure: c.sure,
				all: around{synced: []source{w.a, w.b}}}
			if c.alone {
				r.all.synced = r.all.synced[:1]
			}
			asked, waited, err := r.ask(context.Background(), policy.Asked{Answer: policy.Lacks, Near: c.near}, known{})
			if err != nil || asked[0].Node != "a" || asked[0].Own != c.want || waited {
				t.Errorf("%s: %+v %v", name, asked[0], waited)
			}
		})
	}
}

// TestAskedWrittenByAnother: a node whose binary log shows that another server has written answers nothing else.
func TestAskedWrittenByAnother(t *testing.T) {
	for written, before := range map[uint64]bool{0: true, 1: true, 2: false} {
		play(t, func(w *world) {
			w.commit(6, 7)
			if written > 0 {
				w.c.commitAs(binlog.GTID{Domain: 5, Server: 9, Seq: written}, "foreign")
			}
			at, err := w.a.position(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			r := &reader{archiver: &archiver{held: 7}, node: w.a, at0: at, last: gtid(7), before: gtid(6),
				all: around{synced: []source{w.a, w.b, w.c}}}
			r.at.Foreign = []binlog.GTID{{Domain: 5, Server: 9, Seq: 1}}
			if _, _, err = r.ask(context.Background(), policy.Asked{}, known{}); errors.As(err, &once{}) == before {
				t.Errorf("up to %d: %v", written, err)
			}
		})
	}
}
