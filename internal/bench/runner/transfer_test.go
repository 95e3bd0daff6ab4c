package runner

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// TestAbsence: a lost answer is not yet the end of a server.
func TestAbsence(t *testing.T) {
	serves := wire.Sample{wire.MetricSynced: 1, wire.MetricStarted: 100}
	leaves := wire.Sample{wire.MetricSynced: 0, wire.MetricStarted: 100}
	another := wire.Sample{wire.MetricSynced: 1, wire.MetricStarted: 200}
	for name, tc := range map[string]struct {
		seen []wire.Sample
		want int // the number of the answer it began with, from 1; 0: it did not
	}{
		"serves":             {[]wire.Sample{serves, serves}, 0},
		"one lost":           {[]wire.Sample{serves, nil, serves, nil, nil, serves}, 0},
		"gone":               {[]wire.Sample{serves, nil, nil, nil, another}, 2},
		"a lost one, gone":   {[]wire.Sample{nil, serves, nil, nil, nil}, 3},
		"says so":            {[]wire.Sample{serves, leaves}, 2},
		"quickly back":       {[]wire.Sample{serves, another}, 2},
		"lost, then another": {[]wire.Sample{serves, nil, another}, 2},
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
