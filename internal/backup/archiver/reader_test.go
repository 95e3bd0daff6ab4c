package archiver

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// TestRead: what a segment holds, to the byte, and when one ends.
func TestRead(t *testing.T) {
	big := func(bytes int) string { return strings.Repeat("x", bytes) }
	for name, c := range map[string]struct {
		script func(w *world)
		want   string
	}{
		"nothing": {func(w *world) { w.pass(time.Minute) }, "@5"},
		"one": {func(w *world) {
			w.commit(6)
			w.pass(interval)
		}, "@5 6-6"},
		"not before the interval": {func(w *world) {
			w.pass(interval) // the mark of an interval without transactions has passed
			w.commit(6)
			w.pass(interval / 4)
		}, "@5"},
		"at once when clients wait for another site": {func(w *world) {
			w.pass(interval)
			w.reports.hurry()
			w.commit(6)
			w.pass(interval / 4)
		}, "@5 6-6"},
		"one segment an interval": {func(w *world) {
			for n := uint64(6); n < 12; n += 2 {
				w.commit(n, n+1)
				w.pass(2 * interval)
			}
		}, "@5 6-7 8-9 10-11"},
		"16 MiB are stored at once": {func(w *world) {
			w.pass(interval)
			for n := uint64(6); n < 10; n++ {
				w.a.commitAs(gtid(n), big(9<<20))
			}
			w.pass(time.Millisecond)
		}, "@5 6-7 8-9"},
		"a large transaction is one segment": {func(w *world) {
			w.pass(interval)
			w.a.commitAs(gtid(6), big(20<<20))
			w.a.commitAs(gtid(7), "row")
			w.pass(time.Millisecond)
		}, "@5 6-6"},
		"another format": {func(w *world) {
			w.pass(interval)
			w.commit(6)
			w.pass(time.Millisecond)
			w.a.do(func() { w.a.format = binlogtest.Event(binlogtest.Format, 1, 2, 4, 0, 1) })
			w.pass(time.Millisecond)
			w.commit(7)
			w.pass(interval)
		}, "@5 6-6 7-7"},
		"what is not complete waits": {func(w *world) {
			w.commit(6)
			w.a.commitAs(gtid(7), "")
			w.pass(10 * interval)
		}, "@5"},
		"a statement": {func(w *world) {
			w.a.add(gtid(6), binlogtest.Begin(0, 1, 6, 106, binlogtest.Standalone),
				binlogtest.Statement(106, "CREATE TABLE t (i INT)"))
			w.pass(interval)
		}, "@5 6-6"},
		"on an order to stop": {func(w *world) {
			w.pass(interval)
			w.commit(6)
			w.a.commitAs(gtid(7), "")
			w.pass(time.Millisecond)
			w.stop()
		}, "@5 6-6"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				c.script(w)
				w.expect(c.want)
			})
		})
	}
}

// TestSegment: a segment is a binary log of the cluster's transactions, without those that are a node's own, and its
// head describes it.
func TestSegment(t *testing.T) {
	play(t, func(w *world) {
		own := binlog.GTID{Domain: 1, Server: 1, Seq: 1}
		w.a.commitAs(own, "own")
		w.commit(6)
		w.a.add(binlog.GTID{}, binlogtest.Event(27, 1, 0)) // a heartbeat
		w.a.commitAs(binlog.GTID{Domain: 1, Server: 1, Seq: 2}, "own")
		w.commit(7)
		w.pass(interval)
		want := append([]byte(binlog.Magic), binlogtest.FormatDescription()...)
		for _, n := range []uint64{6, 7} {
			want = append(want, bytes.Join(transaction(gtid(n), "row"), nil)...)
		}
		if have := w.content(2); !bytes.Equal(have, want) {
			t.Errorf("%q instead of %q", have, want)
		}
		h := w.heads()[1]
		if h.Transactions != 2 || h.Bytes != int64(len(want)) || h.BeforeLast != gtid(6) || h.LastSum == "" || h.Chain != 1 ||
			h.Seqno != 7 || h.Session != "s1" || !h.Line().Same(line("a", 0)) {
			t.Errorf("%+v", h)
		}
	})
}

// TestThrough: a time is reported as archived once all that was committed before is in the store, and not while a
// transaction is open.
func TestThrough(t *testing.T) {
	play(t, func(w *world) {
		through := func() time.Time {
			return w.reports.latest().Through
		}
		old := through()
		w.pass(5 * throughEvery)
		if idle := through(); idle.Sub(old) < 3*throughEvery {
			t.Errorf("nothing is written, and the archive stays at %s", idle)
		}
		for range 7 {
			w.pass(interval)
			var stored binlog.Through
			text, err := w.store.bucket.ReadAll(t.Context(), "demo/shop/1/binlog/"+binlog.ThroughName)
			if err == nil {
				err = json.Unmarshal(text, &stored)
			}
			if idle := through(); err != nil || idle.After(stored.Time) {
				t.Errorf("%s is reported, and a restore finds %s: %v", idle, stored.Time, err)
			}
		}
		w.pass(throughEvery)
		if text, err := w.store.bucket.ReadAll(t.Context(), "demo/shop/1/binlog/"+binlog.ThroughName); err != nil ||
			!strings.Contains(string(text), `"last":"0-1-5"`) {
			t.Errorf("%s %v", text, err)
		}
		w.a.commitAs(gtid(6), "")
		w.pass(interval)
		old = through()
		w.pass(10 * interval)
		if open := through(); open != old {
			t.Errorf("a transaction is open, and the archive goes on to %s", open)
		}
		if w.reports.latest().Node != "a" || w.reports.latest().GTID != "0-1-5" {
			t.Errorf("%+v", w.reports.latest())
		}
	})
}

// TestSource: a node that fails, or gives nothing, is exchanged for another one, and no transaction is lost or stored
// twice.
func TestSource(t *testing.T) {
	for name, c := range map[string]struct {
		script func(w *world)
		want   string
		node   string
	}{
		"it is killed in a transaction": {func(w *world) {
			w.pass(interval)
			w.commit(6)
			w.a.commitAs(gtid(7), "")
			w.pass(time.Millisecond)
			w.a.fail("killed")
			w.b.commit(7)
			w.c.commit(7)
			w.pass(2*interval + time.Second)
		}, "@5 6-6 7-7", "b"},
		"all are killed": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			for _, s := range w.servers() {
				s.fail("killed")
			}
			w.pass(10 * time.Minute)
			w.expect("@5 6-6")
			w.b.fail("")
			w.c.fail("")
			w.b.commit(7)
			w.c.commit(7)
			w.pass(time.Minute)
		}, "@5 6-6 7-7", "b"},
		"it states that it has more, and gives nothing": {func(w *world) {
			w.pass(interval)
			w.a.do(func() { w.a.silent = true })
			w.commit(6)
			w.pass(2 * markTime)
		}, "@5 6-6", "b"},
		"and the others come back after a while": {func(w *world) {
			w.stop()
			w.b.fail("gone")
			w.c.fail("gone")
			w.archiver, w.stop = w.start()
			w.pass(interval / 2) // the last transaction is compared
			w.a.do(func() { w.a.silent = true })
			w.commit(6)
			w.pass(2 * interval)
			w.b.fail("")
			w.c.fail("")
			w.pass(3 * markTime)
		}, "@5 6-6", "b"},
		"it does not give what is compared": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			w.a.do(func() { w.a.silent = true })
			w.archiver, w.stop = w.start()
			w.pass(2 * markTime)
		}, "@5 6-6", "b"},
		"what is compared is read for long": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.do(func() { s.slow = 25 * time.Second })
			}
			w.archiver, w.stop = w.start()
			w.commit(7)
			w.pass(4 * markTime)
		}, "@5 6-6 7-7", "a"},
		"it lacks a transaction that another one has": {func(w *world) {
			w.pass(interval)
			w.b.commit(6) // made with sql_log_bin=0 on a
			w.c.commit(6)
			w.commit(7)
			w.pass(2 * interval)
		}, "@5 6-7", "b"},
		"it lacks the last transaction, and nothing follows": {func(w *world) {
			w.pass(interval)
			w.b.commit(6)
			w.c.commit(6)
			w.pass(interval)
			if through := w.reportedThrough(); through.After(time.Now().Add(-interval)) {
				w.t.Errorf("the archive lacks a transaction, and goes to %s", through)
			}
			w.pass(2 * markTime)
		}, "@5 6-6", "b"},
		"a number is missing everywhere": {func(w *world) {
			w.commit(6, 8) // 7 was a DDL statement that has failed
			w.pass(interval)
		}, "@5 6-8", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				c.script(w)
				w.expect(c.want)
				if c.node != "" && w.reports.latest().Node != c.node {
					t.Errorf("it follows %q (%s)", w.reports.latest().Node, w.reports.latest().Problem)
				}
			})
		})
	}
}

// TestGoesOn: the archive goes on from what the store has, whatever has become of the archiver before.
func TestGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		script func(w *world)
		want   string
	}{
		"it is stopped": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			w.commit(7)
			w.archiver, w.stop = w.start()
			w.pass(2 * interval)
		}, "@5 6-6 7-7"},
		"it is killed before it has stored anything": {func(w *world) {
			comeBack := w.vanish()
			w.commit(6, 7)
			w.stop()
			comeBack()
			w.expect("@5")
			w.archiver, w.stop = w.start()
			w.pass(2 * interval)
		}, "@5 6-7"},
		"the store is away": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			comeBack := w.vanish()
			for n := uint64(7); n < 12; n++ {
				w.commit(n)
				w.pass(3 * time.Minute)
			}
			now := w.reports.latest()
			if now.Reason == "" || now.GTID != "0-1-6" || strings.Contains(now.Problem, "\n") {
				w.t.Errorf("the store is away, and reported is %+v", now)
			}
			comeBack()
			w.pass(time.Minute)
		}, "@5 6-6 7-11"},
		"recovered with everything": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.recovered(line("b", 6), line("a", 0))
			w.commit(7)
			w.pass(time.Minute)
			w.recovered(line("c", 8), line("b", 6), line("a", 0))
			w.commit(8, 9)
			w.pass(2 * interval)
		}, "@5 6-6 >b 7-7 >c 8-9"},
		"an agent is behind": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			w.commit(7)
			w.recovered(line("b", 6), line("a", 0))
			w.archiver, w.stop = w.start()
			w.pass(2 * interval)
			w.recovered(line("a", 0))
			w.pass(time.Minute)
			w.recovered(line("b", 6), line("a", 0))
			w.commit(8)
			w.pass(time.Minute)
		}, "@5 6-6 >b 7-7 8-8"},
		"an agent does not answer": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			for _, s := range w.servers() {
				s.do(func() { s.lines = nil })
			}
			w.commit(7)
			w.pass(refusedTime * 2)
			w.expect("@5 6-6")
			w.recovered(line("a", 0))
			w.pass(time.Minute)
		}, "@5 6-6 7-7"},
		"a node is away for a moment, and another one has a transaction of its own": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.b.fail("for a moment")
			w.c.fail("for a moment")
			w.b.commit(7) // made with sql_log_bin=0 on a
			w.c.commit(7)
			w.commit(8)
			w.pass(interval)
			w.b.fail("")
			w.c.fail("")
			w.pass(time.Minute)
		}, "@5 6-6 7-8"},
		"it slept for longer than the binary logs stay": {func(w *world) {
			w.commit(6, 7)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.do(func() { s.purged = 7 }) // that 7 is the same transaction cannot be shown
			}
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
			w.commit(8)
			w.pass(2 * interval)
		}, "@5 6-7 @8"},
		"it slept, and the cluster was started in another line": {func(w *world) {
			w.commit(6, 7)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.do(func() { s.purged = 7 })
			}
			w.recovered(line("b", 7), line("a", 0))
			w.commit(8)
			w.archiver, w.stop = w.start()
			w.pass(2 * interval)
		}, "@5 6-7 >b @8"},
		"there are two": {func(w *world) {
			other, stop := w.start()
			for n := uint64(6); n < 10; n++ {
				w.commit(n)
				w.pass(2 * interval)
			}
			w.pass(interval)
			stop()
			if other.reports.latest().GTID != "0-1-9" || w.reports.latest().GTID != "0-1-9" {
				w.t.Errorf("one does not know what the other has stored: %+v, %+v", other.reports.latest(), w.reports.latest())
			}
		}, "@5 6-6 7-7 8-8 9-9"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				c.script(w)
				w.expect(c.want)
				if w.reports.latest().Problem != "" {
					t.Errorf("reported is %+v", w.reports.latest())
				}
			})
		})
	}
}
