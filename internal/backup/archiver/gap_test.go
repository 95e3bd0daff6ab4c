package archiver

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// TestGap: the archive begins anew only when no node has what follows, and explains why.
func TestGap(t *testing.T) {
	for name, c := range map[string]struct {
		script func(w *world)
		want   string
		says   string
	}{
		"no node has it any more": {func(w *world) {
			w.stop()
			w.commit(6, 7, 8)
			for _, s := range w.servers() {
				s.do(func() { s.purged = 7 })
			}
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
			w.commit(9)
			w.pass(interval)
		}, "@5 @8 9-9", "purged"},
		"one that is away has it": {func(w *world) {
			w.stop()
			w.c.fail("restarts")
			w.commit(6, 7, 8)
			w.a.do(func() { w.a.purged = 7 })
			w.b.do(func() { w.b.purged = 7 })
			w.archiver, w.stop = w.start()
			w.pass(refusedTime - 30*time.Second)
			w.expect("@5")
			w.c.fail("")
			w.pass(time.Minute)
		}, "@5 6-8", ""},
		"one that is away is not waited for for ever": {func(w *world) {
			w.stop()
			w.c.fail("gone")
			w.commit(6, 7, 8)
			w.a.do(func() { w.a.purged = 7 })
			w.b.do(func() { w.b.purged = 7 })
			w.archiver, w.stop = w.start()
			w.pass(refusedTime + time.Minute)
		}, "@5 @8", "purged"},
		"the cluster has lost the last one, and gone on": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.do(func() { s.log = s.log[:len(s.log)-3] })
				s.commitAs(gtid(6), "another row")
				s.commit(7)
			}
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
		}, "@5 6-6 @7", "another one here than in the archive"},
		"the cluster has lost the last one": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.do(func() { s.log = s.log[:len(s.log)-3] })
			}
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
			w.expect("@5 6-6") // nothing has reported it yet
			w.commit(7)
			w.pass(2 * time.Minute)
		}, "@5 6-6 @7", "after 0-1-5 comes 0-1-7 here, and 0-1-6 in the archive"},
		"another server_id": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			for _, s := range w.servers() {
				s.commitAs(binlog.GTID{Server: 2, Seq: 1}, "row")
			}
			w.pass(time.Minute)
		}, "@5 6-6 @1", "the numbers begin anew"},
		"another server_id, before an event comes": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			for _, s := range w.servers() {
				s.do(func() { s.silent = true })
				s.commitAs(binlog.GTID{Server: 2, Seq: 1}, "row")
			}
			w.pass(30 * time.Second)
		}, "@5 6-6 @1", "the numbers begin anew"},
		"point in time was disabled, and is enabled again": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.restart()
			}
			w.commit(501) // 7 to 500 were written without a binary log
			w.session = "s2"
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
			w.commit(502)
			w.pass(2 * interval)
		}, "@5 6-6 @501 502-502", "enabled again"},
		"the nodes had no binary log for a while, and nothing says so": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.restart()
			}
			w.commit(501)
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
			w.commit(502)
			w.pass(2 * interval)
		}, "@5 6-6 @501 502-502", "cannot be shown to be no transaction: a, b, c was started"},
		"a large hole in one file": {func(w *world) {
			w.commit(6, 5000)
			w.pass(time.Minute)
			w.commit(5001)
			w.pass(2 * interval)
		}, "@5 6-6 @5000 5001-5001", "on no node"},
		"one transaction, on the node that is away": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.b.fail("gone for ever")
			w.c.fail("gone for ever")
			w.a.commit(8) // 7 was made with sql_log_bin=0
			w.pass(refusedTime - 30*time.Second)
			w.expect("@5 6-6")
			w.pass(2 * time.Minute)
			w.a.commit(9)
			w.pass(time.Minute)
		}, "@5 6-6 @8 9-9", "c (gone for ever) does not answer"},
		"recovered without the last ones": {func(w *world) {
			w.commit(6, 7, 8)
			w.pass(interval)
			w.stop()
			for _, s := range w.servers() {
				s.do(func() { s.log = s.log[:len(s.log)-3] }) // 8 is lost; another 8, with the same content, and a 9 follow
			}
			w.commit(8, 9)
			w.recovered(line("b", 7), line("a", 0))
			w.archiver, w.stop = w.start()
			w.pass(time.Minute)
			w.commit(10)
			w.pass(2 * interval)
		}, "@5 6-8 @9 10-10", "recovered at the seqno 7"},
		"recovered while it follows": {func(w *world) {
			w.commit(6, 7, 8)
			w.pass(interval)
			w.recovered(line("b", 7), line("a", 0))
			w.commit(9)
			w.pass(time.Minute)
			w.commit(10)
			w.pass(2 * interval)
		}, "@5 6-8 @9 10-10", "recovered at the seqno 7"},
		"another server is replicated": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.foreign(1)
			w.commit(7)
			w.pass(quietTime / 2)
			w.expect("@5 6-6")
			if w.reports.latest().Problem == "" || !strings.Contains(w.reports.latest().Problem, "5-9-1") {
				w.t.Errorf("%+v", w.reports.latest())
			}
			w.foreign(2)
			w.pass(quietTime - time.Minute)
			w.expect("@5 6-6")
			w.pass(2 * time.Minute)
			w.commit(8)
			w.pass(time.Minute)
		}, "@5 6-6 @7 8-8", "5-9-2"},
		"another server was replicated, and a node with a full copy is followed": {func(w *world) {
			w.commit(6)
			w.pass(interval)
			w.a.restart() // with a full copy
			for _, s := range []*server{w.b, w.c} {
				s.commitAs(binlog.GTID{Domain: 5, Server: 9, Seq: 1}, "foreign")
			}
			w.commit(7)
			w.pass(time.Minute)
			w.expect("@5 6-6")
			w.pass(quietTime)
			w.commit(8)
			w.pass(time.Minute)
		}, "@5 6-6 @7 8-8", "5-9-1"},
		"each of two nodes lacks one": {func(w *world) {
			w.pass(interval)
			w.c.fail("gone")
			w.b.commit(6)
			w.a.commit(7)
			w.a.commit(8)
			w.b.commit(8)
			w.pass(2 * refusedTime)
		}, "@5 6-6 @8", "does not go on either"},
		"each of two nodes lacks one, and a third has both": {func(w *world) {
			w.pass(interval)
			w.b.commit(6)
			w.a.commit(7)
			w.a.commit(8)
			w.b.commit(8)
			for n := uint64(6); n < 9; n++ {
				w.c.commit(n)
			}
			w.pass(time.Minute)
		}, "@5 6-6 7-8", ""},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				c.script(w)
				w.expect(c.want)
				chain, why := uint64(1), ""
				for _, h := range w.heads() {
					if h.Begins {
						chain, why = h.Number, h.Why
					}
					if h.Chain != chain {
						t.Errorf("the segment %d is of the chain %d", h.Number, h.Chain)
					}
					if len(h.Foreign) > 0 && h.From < 7 {
						t.Errorf("the segment %d has %v from %d on", h.Number, h.Foreign, h.From)
					}
				}
				if c.says != "" && !strings.Contains(why, c.says) {
					t.Errorf("%q", why)
				}
			})
		})
	}
}

// TestBeginsWithoutContent: a node that joined by a full copy does not give the transaction that the archive begins at.
// It is followed until the next one, though another node would be taken otherwise.
func TestBeginsWithoutContent(t *testing.T) {
	play(t, func(w *world) {
		w.stop()
		w.session = "s2"
		w.a.fail("joins")
		for _, s := range w.servers() {
			s.do(func() { s.purged = 5 })
		}
		w.archiver, w.stop = w.start()
		w.pass(time.Millisecond)
		w.expect("@5 @5")
		w.a.fail("")
		w.pass(time.Minute)
		for _, s := range w.servers() {
			s.add(binlog.GTID{Server: 1, Seq: 6}, binlogtest.Begin(0, 1, 6, 106, 1),
				binlogtest.Statement(106, "CREATE DATABASE d"))
		}
		w.pass(interval)
		w.commit(7)
		w.pass(interval)
		w.expect("@5 @5 6-6 7-7")
	})
}
