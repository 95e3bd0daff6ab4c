package archiver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestFollowedBefore: the archive of a cluster that has followed a source begins when all of that is part of the data,
// goes on though not every node has it in its binary log, and begins anew if the source is replicated once more.
func TestFollowedBefore(t *testing.T) {
	play(t, func(w *world) {
		old := func(s *server, number uint64) { s.commitAs(binlog.GTID{Domain: 3, Server: 7, Seq: number}, "old") }
		data := func(applied string) {
			for _, s := range w.servers() {
				s.do(func() { s.applied = applied })
			}
		}
		w.stop()
		w.session, w.ended = "s2", "3-7-2"
		old(w.c, 1) // the others have full copies
		data("3-7-1")
		w.archiver, w.stop = w.start()
		w.pass(time.Minute)
		w.expect("@5")
		if !strings.Contains(w.reports.latest().Problem, `"3-7-1"`) {
			t.Errorf("%+v", w.reports.latest())
		}
		w.c.fail("away")
		old(w.c, 2)
		data("3-7-2")
		w.commit(6)
		w.pass(time.Minute)
		w.commit(7)
		w.c.fail("")
		w.a.fail("away")
		w.b.fail("away")
		w.pass(2 * quietTime)
		w.a.fail("")
		w.commit(8)
		w.pass(time.Minute)
		if have := w.archived(); !strings.HasPrefix(have, "@5 @6 7-") || strings.Count(have, "@") != 2 ||
			!strings.HasSuffix(have, "8") {
			t.Errorf("the store has %s", have)
		}
		for _, h := range w.heads()[1:] {
			if !slices.Equal(h.Foreign, []binlog.GTID{{Domain: 3, Server: 7, Seq: 2}}) || h.From != 6 {
				t.Errorf("the segment %d has %v from %d on", h.Number, h.Foreign, h.From)
			}
		}
		for _, s := range w.servers() {
			old(s, 3)
		}
		w.pass(quietTime / 2)
		if !strings.Contains(w.reports.latest().Problem, "3-7-3") {
			t.Errorf("%+v", w.reports.latest())
		}
		w.pass(quietTime)
		if have := w.archived(); !strings.HasSuffix(have, "@8") {
			t.Errorf("the store has %s", have)
		}
	})
}
