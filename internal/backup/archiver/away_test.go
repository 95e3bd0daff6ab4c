package archiver

import (
	"strings"
	"testing"
	"time"
)

// TestThroughAway: while the store is away, nothing is asked to be archived, though there is nothing to store.
func TestThroughAway(t *testing.T) {
	play(t, func(w *world) {
		reports := w.reports.latest
		w.pass(10 * interval)
		comeBack := w.vanish()
		w.pass(2 * throughEvery)
		old := reports()
		w.pass(5 * throughEvery)
		if away := reports(); away.Through != old.Through || away.Reason == "" || away.Problem == "" {
			t.Errorf("the store is away, and reported is %+v", away)
		}
		comeBack()
		w.pass(throughEvery)
		if now := reports(); now.Problem != "" || now.Reason != "" || now.Through.Sub(old.Through) < 5*throughEvery {
			t.Errorf("the store is back, and reported is %+v", now)
		}
	})
}

// TestUnconfirmed: while no other node confirms what one has, transactions are archived all the same, however long they
// take to be read.
func TestUnconfirmed(t *testing.T) {
	for name, slow := range map[string]func(a *server){
		"an event is read for long":    func(a *server) { a.slow = 3 * interval },
		"it takes long until it comes": func(a *server) { a.takes = 3 * interval },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.b.fail("gone")
				w.c.fail("gone")
				w.pass(interval)
				w.a.do(func() { slow(w.a) })
				w.a.commit(6)
				w.a.commit(7)
				w.pass(10 * time.Minute)
				w.expect("@5 6-6 7-7")
				if w.reports.latest().Problem == "" || !strings.Contains(w.reports.latest().Problem, "no other node confirms") {
					t.Errorf("%+v", w.reports.latest())
				}
			})
		})
	}
}

// TestUnconfirmedRow: a row may take longer than any limit, also while no other node confirms what this one has.
func TestUnconfirmedRow(t *testing.T) {
	play(t, func(w *world) {
		w.stop()
		w.b.fail("gone")
		w.c.fail("gone")
		w.archiver, w.stop = w.start()
		w.pass(interval / 2)
		all := transaction(gtid(6), "row")
		w.a.add(gtid(6), all[0])
		w.pass(interval / 4)
		w.a.do(func() { w.a.takes = 2 * markTime })
		w.a.add(gtid(6), all[1:]...)
		w.pass(10 * time.Minute)
		w.expect("@5 6-6")
	})
}
