package runner

import (
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/metrics"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestParsePlace: a node's place in its group is read from the metrics that an agent serves.
func TestParsePlace(t *testing.T) {
	for name, tc := range map[string]struct {
		server *agentapi.Server
		want   agentapi.PeerView
	}{
		"serves": {&agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced,
			Members: []string{"x-0", "x-1"}}, agentapi.PeerView{Component: galera.ComponentPrimary,
			State: galera.NodeSynced, Members: []string{"x-0", "x-1"}}},
		"gives": {&agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeDonor, Members: []string{"x-0"}},
			agentapi.PeerView{Component: galera.ComponentPrimary, State: galera.NodeDonor, Members: []string{"x-0"}}},
		"is cut off": {&agentapi.Server{Component: galera.ComponentNonPrimary, State: galera.NodeSynced},
			agentapi.PeerView{State: galera.NodeSynced}},
		"does not answer": {nil, agentapi.PeerView{}},
	} {
		facts := func() metrics.Facts {
			return metrics.Facts{Report: agentapi.Report{Server: tc.server}, Now: time.Now()}
		}
		w := httptest.NewRecorder()
		metrics.NewHandler(metrics.NewCollector(metrics.NodeFamilies(), facts), nil).
			ServeHTTP(w, httptest.NewRequest("GET", agentapi.PathMetrics+"?collect[]=galera", nil))
		if got := parsePlace(w.Body.String()); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v\n%.500s", name, got, tc.want, w.Body)
		}
	}
}
