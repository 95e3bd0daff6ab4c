package archiver

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestThroughAway: while the store is away, nothing is asked to be archived, though there is nothing to store.
func TestThroughAway(t *testing.T) {
	play(t, func(w *world) {
		reports := func() task.Archived {
			w.reports.mu.Lock()
			defer w.reports.mu.Unlock()
			return w.reports.now
		}
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
