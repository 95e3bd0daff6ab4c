package archiver

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestPreviousHeld: a segment names a seqno that its first transaction is after, which may name none itself: where the
// node was when it had committed nothing after the transaction before.
func TestPreviousHeld(t *testing.T) {
	play(t, func(w *world) {
		w.commit(6)
		w.pass(3 * interval)
		for _, s := range w.servers() {
			s.do(func() { s.views = 3 })
		}
		w.pass(3 * interval)
		w.commitNumbered(10, func(*server) uint64 { return 7 })
		w.pass(3 * interval)
		w.a.fail("killed")
		w.pass(10 * interval)
		w.commitNumbered(11, func(*server) uint64 { return 8 })
		w.pass(10 * interval)
		w.expect("@5 6-6 7-7 8-8")
		heads := w.heads()
		for i, want := range []int64{0, 5, 9, 10} {
			if heads[i].PreviousHeld != want {
				t.Errorf("%s to %s: %d instead of %d", heads[i].First, heads[i].Last, heads[i].PreviousHeld, want)
			}
		}
	})
}

// TestPreviousHeldAfterUnnamed: another archiver begins behind a statement that names no seqno, and the node has gone
// on by then. What is archived shows the least that it can have.
func TestPreviousHeldAfterUnnamed(t *testing.T) {
	play(t, func(w *world) {
		w.commit(6)
		w.pass(3 * interval)
		for _, s := range w.servers() {
			s.do(func() { s.views = 3 })
		}
		w.pass(3 * interval)
		w.commitNumbered(0, func(*server) uint64 { return 7 })
		w.pass(3 * interval)
		w.stop()
		w.commitNumbered(11, func(*server) uint64 { return 8 })
		w.archiver, w.stop = w.start()
		w.pass(10 * interval)
		w.expect("@5 6-6 7-7 8-8")
		if h := w.heads()[3]; h.PreviousHeld != 10 {
			t.Errorf("%+v", h)
		}
	})
}

// TestFirstIsAfter: the first transaction of a segment is after the one before it, and after where the node was when it
// had nothing after that. It was asked for that before it was asked for its last transaction.
func TestFirstIsAfter(t *testing.T) {
	for _, c := range []struct {
		before int64 // the seqno of the transaction before, 0 when it names none
		stood  known
		want   int64
	}{
		{6, known{}, 6}, {6, known{GTID: gtid(6), seqno: 9}, 9}, {6, known{GTID: gtid(6), seqno: 4}, 6},
		{0, known{GTID: gtid(6), seqno: 9}, 9}, {0, known{GTID: gtid(5), seqno: 9}, 0}, {0, known{}, 0},
	} {
		r := reading(newServer("a"), newServer("b"), newServer("c"))
		r.near, r.seqno, r.stood.after, r.open = true, c.before, c.stood, &spool{}
		for _, n := range []uint64{7, 8} { // the second one changes nothing
			if err := r.ends(t.Context(), binlog.Transaction{GTID: gtid(n), Seqno: 20}); err != nil {
				t.Fatal(err)
			}
			if got := r.open.head.PreviousHeld; got != c.want {
				t.Errorf("%+v: %d", c, got)
			}
		}
	}
}

// TestStands: what a node has committed when it is asked, and has not given yet, is not after that.
func TestStands(t *testing.T) {
	var s stand
	for _, c := range []struct {
		read, last uint64 // the last transaction that was read, and the one the node has
		seqno      int64  // where it is
		after      binlog.GTID
		want       int64
	}{{5, 5, 7, gtid(5), 7}, {5, 6, 9, gtid(5), 7}, {6, 0, 0, gtid(6), 9}, {7, 0, 0, gtid(6), 9}, {7, 7, 0, gtid(6), 9},
		{7, 7, 12, gtid(7), 12}} {
		at := s.at
		if c.last > 0 {
			at = position{last: gtid(c.last), before: c.seqno}
		}
		if s.take(gtid(c.read), at); s.after.GTID != c.after || s.after.seqno != c.want {
			t.Errorf("%+v: %+v", c, s.after)
		}
	}
}

// TestSeqnos: any node shows that transactions name Galera's seqnos. The first one after the beginning of a chain may
// be before what the node had by then that the chain begins with.
func TestSeqnos(t *testing.T) {
	for name, c := range map[string]struct {
		ahead int64 // how many more seqnos there were when the chain began
		down  int   // how many nodes do not answer when the segment is stored
		hangs bool  // the one that is followed does not even refuse
		want  bool
	}{
		"all answer":                           {0, 0, false, true},
		"the one that is followed does not":    {0, 1, false, true},
		"nor does another one":                 {0, 2, false, true},
		"none answers":                         {0, 3, false, true},
		"the chain began later":                {1, 0, false, true},
		"and the one that is followed is away": {1, 2, false, true},
		"and it hangs":                         {1, 1, true, true},
		"and all are away":                     {1, 3, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.stop()
				w.session = "s2"
				views := func(n int64) {
					for _, s := range w.servers() {
						s.do(func() { s.views = n })
					}
				}
				views(c.ahead)
				w.archiver, w.stop = w.start()
				w.pass(retryFirst + interval/4)
				views(0)
				w.commit(6)
				w.pass(interval / 4)
				w.a.mu.Lock()
				w.a.hangs = c.hangs
				w.a.mu.Unlock()
				for _, s := range w.servers()[:c.down] {
					s.fail("killed")
				}
				w.pass(3*interval + confirmTime)
				w.expect("@5 @5 6-6")
				if h := w.heads()[2]; h.Seqnos != c.want || c.want && h.Held != 6 {
					t.Errorf("%+v", h)
				}
			})
		})
	}
}

// TestSeqnoOfAnother: the seqno is that of a node in the archive's line of history, and of no other node.
func TestSeqnoOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b, c *server)
		want   int64
	}{
		"the next one answers": {func(*server, *server) {}, 7},
		"it does not": {func(b, c *server) {
			b.down = errors.New("away")
			c.views = 2
		}, 8},
		"it hangs": {func(b, c *server) {
			b.hangs = true
			c.views = 2
		}, 8},
		"all hang": {func(b, c *server) { b.hangs, c.hangs = true, true }, 0},
		"its agent reports no line": {func(b, c *server) {
			b.lines = nil
			c.views = 1
		}, 7},
		"it is in another line": {func(b, c *server) {
			b.lines = []binlog.Line{line("b", 0), line("a", 0)}
			c.views = 1
		}, 7},
		"so are all": {func(b, c *server) { b.lines, c.lines = []binlog.Line{line("b", 0)}, []binlog.Line{line("b", 0)} }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b, other := newServer("a"), newServer("b"), newServer("c")
			for _, s := range []*server{a, b, other} {
				s.commit(6)
			}
			a.views, b.views = 5, 1
			c.change(b, other)
			r := reading(a, b, other)
			r.at = place{binlog.Head{Lines: a.lines}}
			from := time.Now()
			if got := r.seqnoOfAnother(t.Context()); got != c.want || time.Since(from) > confirmTime {
				t.Errorf("%s: %d, after %s", name, got, time.Since(from))
			}
		})
	}
}
