package archiver

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestBegins: a chain begins with what another node is at, too: data from before that may lack what the other one has.
// Nothing is called archived while all others have more.
func TestBegins(t *testing.T) {
	play(t, func(w *world) {
		w.stop()
		w.session = "s2"
		for _, s := range []*server{w.b, w.c} {
			s.commit(6)
			s.do(func() { s.views = 5 })
		}
		w.archiver, w.stop = w.start()
		w.pass(retryFirst / 2)
		if h := w.heads()[1]; !h.Begins || h.Last != gtid(5) || h.From != 11 || !h.Through.IsZero() {
			t.Errorf("%+v", h)
		}
	})
}

// TestBeginsWithOneServer: no chain begins while a node gives the cluster's transactions another server_id than the
// others. It does once they are alike.
func TestBeginsWithOneServer(t *testing.T) {
	play(t, func(w *world) {
		w.stop()
		w.session = "s2"
		w.a.commit(6)
		w.b.commit(6)
		w.c.commitAs(binlog.GTID{Server: 7, Seq: 6}, "row")
		w.archiver, w.stop = w.start()
		w.pass(time.Minute)
		w.expect("@5")
		if !strings.Contains(w.reports.latest().Problem, "b is at 0-1-6, c is at 0-7-6") {
			t.Errorf("%+v", w.reports.latest())
		}
		w.commit(7)
		w.pass(time.Minute)
		w.expect("@5 @7")
	})
}
