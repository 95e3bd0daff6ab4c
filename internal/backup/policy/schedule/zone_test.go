package schedule

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestClockChanges: a time of the day comes once a day, also when clocks are set; what is for every hour comes every
// hour.
func TestClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, zone, after string
		want                  []string
		notes                 int
	}{
		"set forward, a time that is left out": {"30 2 * * *", "Europe/Vienna", "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}, 1},
		"set back, a time that comes twice": {"30 2 * * *", "Europe/Vienna", "2026-10-23T12:00:00Z",
			[]string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}, 1},
		"set back, asked in between": {"30 2 * * *", "Europe/Vienna", "2026-10-25T01:10:00Z",
			[]string{"2026-10-26T01:30:00Z"}, 0},
		"west of Greenwich": {"30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}, 1},
		"half an hour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-02T18:00:00Z",
			[]string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}, 1},
		"every hour, set back": {"0 * * * *", "Europe/Vienna", "2026-10-24T23:30:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"}, 0},
		"every hour, set forward": {"0 * * * *", "Europe/Vienna", "2026-03-29T00:30:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"}, 0},
		"twice, and one is where the other moves to": {"30 2,3 * * *", "Europe/Vienna", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}, 1},
	} {
		z, err := Parse(v1alpha1.GaleraBackupScheduleSpec{Schedule: c.schedule, TimeZone: c.zone})
		if err != nil {
			t.Fatal(err)
		}
		now, notes := at(c.after), 0
		for _, want := range c.want {
			if now = z.Next(now); now.UTC().Format(time.RFC3339) != want {
				t.Errorf("%s: %s, want %s", name, now.UTC().Format(time.RFC3339), want)
			}
			if note := z.note(now); note != "" {
				notes++
				if !strings.Contains(note, c.zone) {
					t.Errorf("%s: %s", name, note)
				}
			}
		}
		if notes != c.notes {
			t.Errorf("%s: %d notes", name, notes)
		}
	}
}
