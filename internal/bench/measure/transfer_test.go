package measure

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestJoined: as long as the agent adds up the bytes, the metrics report those of the last check of a running transfer.
func TestJoined(t *testing.T) {
	for name, tc := range map[string]struct {
		s    result.Sample
		want bool
	}{
		"the server before": {result.Sample{result.MetricSynced: 1, result.MetricStarted: 100}, false},
		"no answer":         {nil, false},
		"joins": {result.Sample{result.MetricSynced: 0, result.MetricStarted: 200, result.MetricJoining: 1},
			false},
		"synced, not added up": {result.Sample{result.MetricSynced: 1, result.MetricStarted: 200, result.MetricJoining: 1},
			false},
		"synced, and the bytes": {result.Sample{result.MetricSynced: 1, result.MetricStarted: 200, result.MetricJoining: 0},
			true},
	} {
		if got := joined(tc.s, 100); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAbsence: a lost answer is not yet the end of a server.
func TestAbsence(t *testing.T) {
	serves := result.Sample{result.MetricSynced: 1, result.MetricStarted: 100}
	leaves := result.Sample{result.MetricSynced: 0, result.MetricStarted: 100}
	another := result.Sample{result.MetricSynced: 1, result.MetricStarted: 200}
	for name, tc := range map[string]struct {
		seen []result.Sample
		want int // the number of the answer it began with, from 1; 0: it did not
	}{
		"serves":             {[]result.Sample{serves, serves}, 0},
		"one lost":           {[]result.Sample{serves, nil, serves, nil, nil, serves}, 0},
		"gone":               {[]result.Sample{serves, nil, nil, nil, another}, 2},
		"a lost one, gone":   {[]result.Sample{nil, serves, nil, nil, nil}, 3},
		"says so":            {[]result.Sample{serves, leaves}, 2},
		"quickly back":       {[]result.Sample{serves, another}, 2},
		"lost, then another": {[]result.Sample{serves, nil, another}, 2},
	} {
		a := absence{server: 100}
		for i, s := range tc.seen {
			a.saw(time.Unix(int64(i+1), 0), s)
		}
		if a.began.IsZero() != (tc.want == 0) || tc.want > 0 && a.began.Unix() != int64(tc.want) {
			t.Errorf("%s: %v", name, a.began)
		}
	}
}
