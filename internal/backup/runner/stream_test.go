package runner

import (
	"net/http"
	"testing"
	"time"
)

// TestClockOfTheNode: a backup is complete by the later one of the Job's and the node's clock.
func TestClockOfTheNode(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for date, want := range map[string]time.Duration{
		"": 0, "yesterday": 0, now.Format(http.TimeFormat): 0, now.Add(-time.Hour).Format(http.TimeFormat): 0,
		now.Add(5 * time.Second).Format(http.TimeFormat): 0, now.Add(time.Hour).Format(http.TimeFormat): time.Hour,
	} {
		if have := aheadBy(http.Header{"Date": {date}}, now); have != want {
			t.Errorf("%q: %s", date, have)
		}
	}
	if d := time.Until((&stream{ahead: time.Hour}).now()); d < 59*time.Minute || d > time.Hour {
		t.Errorf("%s later", d)
	}
}
