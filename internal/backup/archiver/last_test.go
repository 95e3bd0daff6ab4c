package archiver

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
)

// started has all servers started again after what a view has taken, in another line of history or in the same.
func (w *world) started(recovered bool, since [3]int64) {
	if recovered {
		w.recovered(line("b", 9), line("a", 0))
	}
	for i, s := range w.servers() {
		s.restart()
		s.do(func() { s.since, s.views, s.view = since[i], 3, "after a start" })
	}
}

// reportedThrough is the time until which the archive is reported to be complete.
func (w *world) reportedThrough() time.Time {
	return w.reports.latest().Through
}

// TestLastAfterARecovery: while nothing is written after a recovery, no time is reported as archived until two nodes
// show by binary logs of their own that the archive has the last transaction. Copies do not: the archive begins anew.
func TestLastAfterARecovery(t *testing.T) {
	slow := func(a *server) { a.slow = 6 * interval }
	late := func(a *server) { a.takes = 6 * interval }
	for name, c := range map[string]struct {
		since [3]int64        // of a, b and c
		slow  func(a *server) // it does not show at once that it was started
		away  bool            // b is
		later int64           // since of b after a minute, 0 for the same
		goes  bool            // times are archived within a minute
		want  string
	}{
		"two have their own":         {[3]int64{1, 7, 12}, nil, false, 0, true, "@5 6-7 >b"},
		"all have a copy of a":       {[3]int64{1, 9, 12}, nil, false, 0, false, "@5 6-7 >b @7"},
		"all ran without one":        {[3]int64{9, 9, 9}, nil, false, 0, false, "@5 6-7 >b @7"},
		"b's agent reports it later": {[3]int64{1, 0, 12}, nil, false, 7, false, "@5 6-7 >b"},
		"b's agent never reports it": {[3]int64{1, 0, 12}, nil, false, 0, false, "@5 6-7 >b @7"},
		"one has its own":            {[3]int64{9, 1, 12}, nil, false, 0, false, "@5 6-7 >b @7"},
		"one has its own, a is slow": {[3]int64{9, 1, 12}, slow, false, 0, false, "@5 6-7 >b @7"},
		"one has its own, a is late": {[3]int64{9, 1, 12}, late, false, 0, false, "@5 6-7 >b @7"},
		"b is away":                  {[3]int64{1, 7, 12}, nil, true, 7, false, "@5 6-7 >b"},
	} {
		for _, recovered := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				play(t, func(w *world) {
					w.commit(6, 7)
					w.pass(3 * interval)
					w.started(recovered, c.since)
					if c.slow != nil {
						w.a.do(func() { c.slow(w.a) })
					}
					if c.away {
						w.b.fail("it is started")
					}
					w.pass(time.Second) // what was asked for before has ended
					old := time.Now()
					w.pass(time.Minute)
					goes, anew := w.reportedThrough().After(old), strings.Contains(w.archived(), "@7")
					if goes != c.goes && !anew {
						t.Errorf("times are archived: %v; %s", goes, w.reports.latest().Problem)
					}
					if c.later != 0 {
						w.b.fail("")
						w.b.do(func() { w.b.since = c.later })
					}
					w.pass(2 * refusedTime)
					if !w.reportedThrough().After(old.Add(refusedTime)) {
						t.Errorf("it ends at %s: %s", w.reportedThrough(), w.reports.latest().Problem)
					}
					want := c.want
					if !recovered {
						want = strings.ReplaceAll(want, " >b", "")
					}
					w.expect(want)
					if end := w.heads()[len(w.heads())-1]; end.Begins && w.storedThrough().Segment%end.Number != 0 {
						t.Errorf("%+v was stored before it was shown", w.storedThrough())
					}
				})
			})
		}
	}
}

// storedThrough is what the store has of it.
func (w *world) storedThrough() (t binlog.Through) {
	w.t.Helper()
	text, err := w.store.bucket.ReadAll(w.t.Context(), "demo/shop/1/binlog/"+binlog.ThroughName)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil && !store.Missing(err) {
		w.t.Error(err)
	}
	return t
}

// TestLastWithCopies: all nodes but one have a copy of it, and it was not started: what was made there with
// sql_log_bin=0 is in no binary log. A later transaction shows that there was none.
func TestLastWithCopies(t *testing.T) {
	for name, c := range map[string]struct {
		held  bool // the copies were made while the archiver knew that nothing had followed
		write bool // a transaction follows
		want  string
	}{
		"nothing follows":         {false, false, "@5 6-7 @7"},
		"a transaction follows":   {false, true, "@5 6-7 8-8"},
		"nothing followed before": {true, false, "@5 6-7"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.commit(6, 7)
				w.pass(3 * interval)
				views := func(n int64) {
					for _, s := range w.servers() {
						s.do(func() { s.views, s.view = n, "another" })
					}
				}
				if views(4); c.held {
					w.pass(throughEvery + 5*interval)
				}
				for _, s := range []*server{w.b, w.c} {
					s.restart()
					s.do(func() { s.since = 11 })
				}
				if views(5); c.held {
					w.stop()
					w.archiver, w.stop = w.start()
				}
				if c.write {
					w.commitNumbered(13, func(*server) uint64 { return 8 })
				}
				w.pass(2 * refusedTime)
				w.expect(c.want)
			})
		})
	}
}

// TestHeldInALaterLine: up to which seqno the archive has all ends where another line of history begins, which gives
// the seqnos after that again.
func TestHeldInALaterLine(t *testing.T) {
	for since, want := range map[int64]string{8: "@5 6-7 >b", 9: "@5 6-7 >b @7"} {
		play(t, func(w *world) {
			w.commit(6, 7)
			w.pass(3 * interval)
			for _, s := range w.servers() {
				s.do(func() { s.views, s.view = 3, "another" })
			}
			if w.pass(throughEvery + 5*interval); w.storedThrough().Held != 10 {
				t.Errorf("%+v", w.storedThrough())
			}
			w.started(true, [3]int64{since, since, since})
			w.recovered(line("b", 8), line("a", 0))
			w.pass(time.Minute)
			w.expect(want)
		})
	}
}

// TestLastOfASilentNode: one that does not give the last transaction shows nothing, and is exchanged for another one.
func TestLastOfASilentNode(t *testing.T) {
	play(t, func(w *world) {
		w.commit(6, 7)
		w.pass(3 * interval)
		w.started(true, [3]int64{9, 7, 12})
		w.a.do(func() { w.a.silent = true })
		w.pass(2 * markTime)
		w.expect("@5 6-7 >b")
	})
}

// TestLastOfMany: while transactions follow one another, a later one shows that there was none before it.
func TestLastOfMany(t *testing.T) {
	play(t, func(w *world) {
		old := w.reportedThrough()
		for n := uint64(6); n < 60; n++ {
			w.commit(n)
			w.pass(interval / 4)
		}
		if w.reportedThrough().Sub(old) < 10*interval {
			t.Errorf("until %s after %s", w.reportedThrough(), old)
		}
	})
}

// TestLastStatement: a statement that changes tables does not name its seqno. What a node has had a binary log of its
// own for since after it shows nothing, though the archive was stored later.
func TestLastStatement(t *testing.T) {
	for since, want := range map[int64]string{6: "@5 6-7 >b 8-8", 8: "@5 6-7 >b @8"} {
		play(t, func(w *world) {
			w.commit(6)
			for _, s := range w.servers() {
				s.do(func() { s.views = 1 }) // the archive is stored when the group is at 8
				s.add(gtid(7), binlogtest.Begin(0, 1, 7, 107, binlogtest.Standalone),
					binlogtest.Statement(107, "TRUNCATE t"))
			}
			w.pass(2 * interval)
			w.recovered(line("b", 9), line("a", 0))
			for _, s := range w.servers() {
				s.restart()
				s.do(func() { s.since = since })
			}
			w.commitNumbered(20, func(*server) uint64 { return 8 })
			w.pass(time.Minute)
			w.expect(want)
		})
	}
}
