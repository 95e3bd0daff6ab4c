package archiver

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestOverdue: a transaction that says to be of before what was called archived, and was read long after that, is not
// of before. A clock that is a little behind is believed.
func TestOverdue(t *testing.T) {
	type ago = time.Duration // 10 s ago all of before was archived
	for name, c := range map[string]struct {
		read    ago
		ahead   time.Duration // the clocks of nodes
		another bool          // archiver has called it archived
		of      ago
	}{
		"read soon":              {6 * time.Second, 0, false, 12 * time.Second},
		"read late":              {4 * time.Second, 0, false, 10 * time.Second},
		"by another archiver":    {6 * time.Second, 0, true, 10 * time.Second},
		"soon, by a wrong clock": {6 * time.Second, -time.Hour, false, 12 * time.Second},
		"late, by a wrong clock": {4 * time.Second, -time.Hour, false, 10 * time.Second},
	} {
		a := newServer("a")
		a.commit(6)
		r := reading(a, newServer("b"), newServer("c"))
		r.store, r.known, r.at = newStore(t), time.Now(), place{binlog.Head{Number: 1, Last: gtid(5), Lines: a.lines}}
		r.open = spoolOf(t, 1)
		r.open.head.Transactions, r.open.head.First, r.open.head.Last = 1, gtid(6), gtid(6)
		a.ahead, r.clocks = c.ahead, clocks{"b": c.ahead, "c": c.ahead}
		now := time.Now()
		was := func(d ago) time.Time { return now.Round(0).UTC().Add(c.ahead - d) }
		r.through = was(10 * time.Second)
		if r.raw.add(was(12*time.Second), r.through, now.Add(-c.read)); c.another {
			r.raw.archived = time.Time{}
		}
		if err := r.flush(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if h := r.at.Head; !h.FirstTime.Equal(was(c.of)) || !h.LastTime.Equal(was(c.of)) {
			t.Errorf("%s: %s to %s, and now is %s", name, h.FirstTime, h.LastTime, was(0))
		}
	}
}

// TestReadLate: what an archiver reads when it is started again counts as committed after what was called archived
// before, though it says otherwise. What it reads at once may be of a clock that is a little behind.
func TestReadLate(t *testing.T) {
	for away, earlier := range map[time.Duration]time.Duration{0: binlog.ClockSlack, time.Minute: 0} {
		play(t, func(w *world) {
			for w.storedThrough().Time.IsZero() {
				w.pass(interval)
			}
			w.stop()
			w.pass(away)
			archived := w.storedThrough().Time
			w.commit(6)
			w.archiver, w.stop = w.start()
			w.pass(2 * interval)
			w.expect("@5 6-6")
			if h := w.heads()[1]; !h.FirstTime.Equal(archived.Add(-earlier)) {
				t.Errorf("away for %s: %s was called archived, %s to %s", away, archived, h.FirstTime, h.LastTime)
			}
		})
	}
}
