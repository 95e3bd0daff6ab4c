package archiver

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// commitNumbered has a transaction of a seqno on all servers, under other numbers where another one is named.
func (w *world) commitNumbered(seqno uint64, number func(*server) uint64) {
	for _, s := range w.servers() {
		g := binlog.GTID{Server: 1, Seq: number(s)}
		s.add(g, binlogtest.Begin(0, 1, g.Seq, 100+uint32(seqno), 0), binlogtest.Change(100, 7, 0, "row"),
			binlogtest.Commit(100+uint32(seqno), seqno))
	}
}

// TestNumbers: a node that numbers the same transaction differently is named, as long as that is so.
func TestNumbers(t *testing.T) {
	play(t, func(w *world) {
		skew := func(want string) {
			t.Helper()
			w.pass(3 * interval)
			s := w.reports.latest().Skew
			if (s == nil) != (want == "") || s != nil && (!strings.Contains(s.Why, want) || s.Spread != 1) {
				t.Errorf("%+v instead of %q", s, want)
			}
		}
		w.pass(3 * interval)
		w.commit(6, 7, 8)
		skew("")
		next := func(s *server) uint64 { // each goes on from its own binary log
			at, _ := s.position(t.Context())
			return at.last.Seq + 1
		}
		for _, s := range []*server{w.a, w.b} { // made on c with sql_log_bin=0, which is started again then
			s.commit(9)
		}
		for _, s := range w.servers() {
			s.do(func() { s.view = "after c was started" })
		}
		skew("")
		w.commitNumbered(10, next)
		w.commitNumbered(11, next)
		skew("has the number")
		if s := w.reports.latest().Skew; s != nil && s.Nodes != 3 {
			t.Errorf("%+v", s)
		}
		w.commitNumbered(12, func(*server) uint64 { return 500 })
		w.commitNumbered(13, func(*server) uint64 { return 501 })
		w.pass(3 * interval)
		w.commitNumbered(14, func(*server) uint64 { return 502 })
		skew("")
		w.expect("@5 6-8 9-9 10-11 500-501 502-502")
	})
}

// TestFirstAfterAStart: a server counts on from its binary log. What was made there with sql_log_bin=0 has the number
// of the next transaction then: the archive goes on with a node that has both.
func TestFirstAfterAStart(t *testing.T) {
	play(t, func(w *world) {
		w.commit(6, 7)
		w.pass(3 * interval)
		for _, s := range []*server{w.b, w.c} { // made on a, which is followed, and is started again
			s.commit(8)
		}
		for _, s := range w.servers() {
			s.do(func() { s.view = "after a was started" })
		}
		w.a.restart()
		next := func(s *server) uint64 {
			at, _ := s.position(t.Context())
			return at.last.Seq + 1
		}
		w.commitNumbered(20, next)
		w.pass(10 * interval)
		w.expect("@5 6-7 8-9")
	})
}

// TestFirstAfterARecovery: after a recovery of all nodes, views are counted from one on. One of the same number is
// another view.
func TestFirstAfterARecovery(t *testing.T) {
	play(t, func(w *world) {
		for _, s := range w.servers() {
			s.do(func() { s.view = "3" })
		}
		w.commit(6, 7)
		w.pass(3 * interval)
		for _, s := range []*server{w.b, w.c} { // made on a with sql_log_bin=0, which is followed
			s.commit(8)
		}
		for _, s := range w.servers() {
			s.do(func() { s.lines = []binlog.Line{line("b", 8), line("a", 0)} })
			s.restart()
		}
		next := func(s *server) uint64 {
			at, _ := s.position(t.Context())
			return at.last.Seq + 1
		}
		w.commitNumbered(20, next)
		w.pass(2 * markTime)
		w.expect("@5 6-7 >b 8-8 9-9")
	})
}

// TestRightAfterARecovery: a node that bootstraps may be alone for long, until the others have copied its data. The
// archive goes on when Galera's numbers show that nothing was lost: the bootstrap's view takes one.
func TestRightAfterARecovery(t *testing.T) {
	for seqno, want := range map[uint64]string{9: "@5 6-7 >b 8-8", 10: "@5 6-7 >b @8"} {
		play(t, func(w *world) {
			w.commit(6, 7)
			w.pass(3 * interval)
			w.recovered(line("b", 7), line("a", 0))
			w.a.restart()
			w.b.fail("it copies a's data")
			w.c.fail("it copies a's data")
			w.commitNumbered(seqno, func(*server) uint64 { return 8 })
			w.pass(2 * refusedTime)
			w.expect(want)
		})
	}
}

// TestCopiesAfterARecovery: after a recovery nodes may have copies of the one that lacks a transaction, with its
// numbers. The archive goes on where two nodes have written their binary logs themselves, and begins anew elsewhere. A
// node whose agent does not report that yet is waited for.
func TestCopiesAfterARecovery(t *testing.T) {
	for name, c := range map[string]struct {
		since  [3]int64 // of a, b and c
		later  int64    // that of b after a minute, 0 for the same
		before string   // what is archived until then
		want   string
	}{
		"all have a copy of a":              {[3]int64{1, 9, 9}, 0, "@5 6-7 >b @8", "@5 6-7 >b @8 9-9"},
		"b has none":                        {[3]int64{1, 7, 9}, 0, "@5 6-7 >b 8-8", "@5 6-7 >b 8-8 9-9"},
		"none had a binary log for a while": {[3]int64{9, 9, 9}, 0, "@5 6-7 >b @8", "@5 6-7 >b @8 9-9"},
		"b's agent reports it later":        {[3]int64{1, 0, 9}, 7, "@5 6-7 >b", "@5 6-7 >b 8-9"},
		"b's agent reports it never":        {[3]int64{1, 0, 9}, 0, "@5 6-7 >b", "@5 6-7 >b @9"},
		"a's agent reports it never":        {[3]int64{0, 1, 9}, 0, "@5 6-7 >b", "@5 6-7 >b @9"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.commit(6, 7)
				w.pass(3 * interval)
				w.recovered(line("b", 9), line("a", 0)) // what took the seqno 8 is not known
				for i, s := range w.servers() {
					s.restart()
					s.do(func() { s.since = c.since[i] })
				}
				w.commitNumbered(20, func(*server) uint64 { return 8 })
				w.pass(time.Minute)
				w.expect(c.before)
				if c.later != 0 {
					w.b.do(func() { w.b.since = c.later })
				}
				w.commitNumbered(21, func(*server) uint64 { return 9 })
				w.pass(2 * refusedTime)
				w.expect(c.want)
			})
		})
	}
}

// TestFirstOfOneNode: a cluster of one node has written nothing for days, so that its binary log does not have the last
// transaction any more, and another archiver goes on. There is no node to compare with, and no reason to begin anew,
// unless the node was without a binary log.
func TestFirstOfOneNode(t *testing.T) {
	for since, want := range map[int64]string{1: "@5 6-7 8-9", 9: "@5 6-7 @8 9-9"} {
		play(t, func(w *world) {
			w.commit(6, 7)
			w.pass(3 * interval)
			w.stop()
			w.alone = true
			w.a.restart()
			w.a.do(func() { w.a.purged, w.a.since, w.a.view = 7, since, "after a was started" })
			w.archiver, w.stop = w.start()
			w.pass(3 * interval)
			w.a.commit(8)
			w.pass(30 * time.Second)
			w.a.commit(9)
			w.pass(3 * interval)
			if have := strings.ReplaceAll(w.archived(), "8-8 9-9", "8-9"); have != want {
				t.Errorf("since %d: %q instead of %q", since, have, want)
			}
		})
	}
}

// TestFirstOfARotatedLog: the donor of a full copy rotates its binary log. It numbers on as before: no other node has
// to confirm the first transaction after that, and a hole next to it can be explained.
func TestFirstOfARotatedLog(t *testing.T) {
	play(t, func(w *world) {
		w.commit(6, 7)
		w.pass(3 * interval)
		w.b.fail("it copies a's data")
		w.c.fail("it copies a's data")
		w.a.do(func() { w.a.view = "b and c have left" })
		w.a.rotate()
		w.commitNumbered(20, func(*server) uint64 { return 8 })
		w.pass(2 * refusedTime)
		w.expect("@5 6-7 8-8")
		w.b.fail("")
		w.c.fail("")
		for _, s := range w.servers() {
			s.rotate()
		}
		w.commitNumbered(30, func(*server) uint64 { return 10 })
		w.pass(2 * refusedTime)
		w.expect("@5 6-7 8-8 10-10")
	})
}

// TestHoleBeforeAStart: what two nodes lack is a number of theirs. A server that was started may have another
// transaction by the next one, and lack the one between.
func TestHoleBeforeAStart(t *testing.T) {
	play(t, func(w *world) {
		w.commit(6)
		w.pass(3 * interval)
		for _, s := range []*server{w.b, w.c} { // made on a, which is followed, and is started again
			s.commit(8)
		}
		for _, s := range w.servers() {
			s.do(func() { s.view = "after a was started" })
		}
		w.a.restart()
		w.commitNumbered(20, func(s *server) uint64 {
			if s == w.a {
				return 8
			}
			return 10
		})
		w.pass(2 * time.Minute)
		w.expect("@5 6-6 8-10")
	})
}

// TestBeginsAtAContent: where the archive begins, a node that has another transaction by that number is not followed.
func TestBeginsAtAContent(t *testing.T) {
	play(t, func(w *world) {
		w.a.fail("for a moment")
		w.a.commitAs(gtid(6), "X")
		w.a.commitAs(gtid(7), "Y")
		for _, s := range []*server{w.b, w.c} { // they are behind by one
			s.do(func() { s.log = s.log[:len(s.log)-3] })
			s.commitAs(gtid(5), "X")
			s.commitAs(gtid(6), "Y")
		}
		w.pass(10 * interval)
		w.expect("@5")
		w.a.fail("")
		w.pass(time.Minute)
		w.expect("@5 6-7")
	})
}
