package schedule

import (
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestNoticeByTheEarlierClock: what was announced is removed when the time has come by all known clocks.
func TestNoticeByTheEarlierClock(t *testing.T) {
	f := kept(has("old", "01"), has("last", "20"))
	f.Today = f.Now.Add(-48 * time.Hour)
	var to v1alpha1.GaleraBackupScheduleStatus
	for _, c := range []struct {
		today time.Duration
		gone  int
	}{{-48 * time.Hour, 0}, {-24*time.Hour - time.Second, 0}, {-24 * time.Hour, 1}} {
		f.Today = f.Now.Add(c.today)
		gone := Retain(&to, f)
		if f.Schedule.Status.Retention = to.Retention; len(gone) != c.gone {
			t.Errorf("%s before: %d are removed", c.today, len(gone))
		}
	}
}
