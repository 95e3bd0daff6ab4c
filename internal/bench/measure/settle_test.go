package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// reported answers as agents do: what x-1 has received, more at each question.
type reported struct {
	received []float64
	asked    int
	// started is when the server of x-1 was.
	started float64
}

// RoundTrip answers for both nodes.
func (t *reported) RoundTrip(r *http.Request) (*http.Response, error) {
	text := "galera_server_start_time_seconds 100\nmysql_global_status_wsrep_received_bytes " +
		"0\nmysql_global_status_wsrep_replicated_bytes 99e6\n"
	if r.URL.Hostname() == "x-1" {
		text = fmt.Sprintf("galera_server_start_time_seconds %g\nmysql_global_status_wsrep_received_bytes %g\n", t.started,
			t.received[min(t.asked, len(t.received)-1)])
		t.asked++
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// TestSettle: a counter that is older than the end of the run is read again, and no other.
func TestSettle(t *testing.T) {
	at := func(replicated, received float64) result.Sample {
		return result.Sample{result.MetricStarted: 100, result.MetricReplicated: replicated, result.MetricReceived: received}
	}
	for name, tc := range map[string]struct {
		first   float64
		later   []float64
		started float64
		asked   int
		want    float64
	}{
		"known at once":  {20e6, []float64{99e6}, 100, 0, 20e6},
		"known later":    {0, []float64{1e6, 19e6}, 100, 2, 19e6},
		"another server": {0, []float64{19e6}, 200, -1, 0},
	} {
		agents := &reported{received: tc.later, started: tc.started}
		r := &runner{target: target{plan: result.Plan{Members: []result.Member{{Name: "x-0", Host: "x-0"},
			{Name: "x-1", Host: "x-1"}}}}}
		r.agents = newAgents(r.plan.Members)
		r.agents.client.Transport = agents
		r.out.StartedAt = time.Unix(1e9, 0)
		r.out.EndedAt = r.out.StartedAt.Add(15 * time.Second)
		r.out.Members = map[string]result.Window{"x-0": {Before: at(0, 0), After: at(20e6, 0)},
			"x-1": {Before: at(0, 0), After: at(0, tc.first)}}
		ctx := t.Context()
		if tc.asked < 0 { // nothing it says helps
			short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
			defer stop()
			ctx = short
		}
		r.settle(ctx)
		after := r.out.Members["x-1"].After
		if after[result.MetricReceived] != tc.want || after[result.MetricReplicated] != 0 ||
			r.out.Members["x-0"].After[result.MetricReplicated] != 20e6 {
			t.Errorf("%s: %v", name, r.out.Members)
		}
		if tc.asked >= 0 && agents.asked != tc.asked {
			t.Errorf("%s: asked %d times", name, agents.asked)
		}
	}
}
