package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

var noon = time.Unix(1_800_000_000, 0)

// full has something of everything.
func full() Facts {
	r := agentapi.Report{
		Name: "shop-1", AgentVersion: "v1", Phase: galera.PhaseRunning,
		Position: galera.Position{UUID: "90e0b86f-e577-11f1-b9b1-fa90d5744545", Seqno: 4},
		Image:    agentapi.ImageReport{ServerVersion: "11.8.6-MariaDB", ProviderVersion: `26.4.23(r"1\")`},
		Server: &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, Size: 3,
			Members: []string{"shop-0", "shop-1"}, ViewID: 7, StartedAt: noon},
		TLS: agentapi.TLSReport{LoadedNotAfter: new(noon), Reloads: 2, TrustedCAs: []string{"old", "new"},
			PublishedCAs: []string{"new"},
			Channels: map[string]agentapi.ChannelFact{
				agentapi.ChannelReplication: {Observed: agentapi.ObservedTLS, Protocol: "TLSv1.3",
					Cipher: "TLS_AES_256_GCM_SHA384", CheckedAt: noon},
				agentapi.ChannelClients:       {Observed: agentapi.ObservedMixed},
				agentapi.ChannelStateTransfer: {Observed: agentapi.ObservedUnknown},
			},
			Peers: map[string]agentapi.ChannelFact{"shop-0": {Observed: agentapi.ObservedTLS},
				"shop-2": {Observed: agentapi.ObservedUnknown}}},
		Join: &agentapi.Join{Kind: agentapi.JoinSST, Donor: "shop-0", Phase: agentapi.JoinTransferring,
			StartedAt: noon, MovedAt: noon.Add(time.Second), Bytes: 5, Total: 10, Rate: 1},
		Replication: &agentapi.Replication{RoundTripMicroseconds: 120, SendWindows: agentapi.SendWindows{UserSendWindow: 1,
			SendWindow: 2}},
		AtRest: &agentapi.AtRestReport{Files: 40, Pages: 900, ClearFiles: 1, FullAt: time.Unix(1700000000, 0)},
		Cache:  &agentapi.Cache{Size: 128 << 20, Oldest: 3, WindowSeconds: 7200}, Donation: &agentapi.Donation{},
		Donations: map[string]int64{agentapi.JoinIST: 3},
		Backup:    &agentapi.BackupReport{Running: true}, DataBytes: 1 << 30, Primary: "shop-1", Restarts: 1,
		Failure: &agentapi.Failure{Reason: agentapi.FailureStart}, Arbitration: &agentapi.Arbitration{Counted: true},
	}
	return Facts{Report: r, Now: noon.Add(10 * time.Second), Volume: &Volume{Free: 1, Size: 2},
		Renewed: new(3 * time.Second)}
}

func collector(families []Family, f Facts) *Collector {
	return NewCollector(families, func() Facts { return f })
}

// TestConventions: names, units and types are as Prometheus wants them, of a node and of an arbitrator, with everything
// known and with nothing.
func TestConventions(t *testing.T) {
	for name, families := range map[string][]Family{"node": NodeFamilies(), "arbitrator": ArbitratorFamilies()} {
		for _, facts := range []Facts{full(), {}} {
			r := prometheus.NewPedanticRegistry()
			r.MustRegister(collector(families, facts))
			problems, err := testutil.GatherAndLint(r)
			if err != nil || len(problems) > 0 {
				t.Errorf("%s: %v %v", name, problems, err)
			}
		}
		for _, f := range families {
			point := strings.HasSuffix(f.Name, "_timestamp_seconds") || strings.HasSuffix(f.Name, "_time_seconds")
			switch {
			case !strings.HasPrefix(f.Name, "galera_"):
				t.Errorf("%s: not ours", f.Name)
			case !strings.HasSuffix(f.Help, "."):
				t.Errorf("%s: no sentence: %s", f.Name, f.Help)
			case (f.Kind == prometheus.CounterValue) != strings.HasSuffix(f.Name, "_total"):
				t.Errorf("%s: counters, and no others, end in _total", f.Name)
			case point != strings.HasPrefix(f.Help, "When ") && !strings.Contains(f.Name, "expiration"):
				t.Errorf("%s: %s", f.Name, f.Help)
			}
		}
	}
}

// TestEveryMetricHasASeries: of a node of which all is known, no metric is without a series.
func TestEveryMetricHasASeries(t *testing.T) {
	for name, families := range map[string][]Family{"node": NodeFamilies(), "arbitrator": ArbitratorFamilies()} {
		c := collector(families, full())
		for _, f := range families {
			if strings.HasPrefix(f.Name, "galera_container_") {
				continue // the machine of the test may have no control groups
			}
			if testutil.CollectAndCount(c, f.Name) == 0 {
				t.Errorf("%s: no series of %s", name, f.Name)
			}
		}
	}
}

func TestValues(t *testing.T) {
	const want = `# HELP galera_channel_encrypted Whether only TLS was observed on the channel.
# TYPE galera_channel_encrypted gauge
galera_channel_encrypted{channel="clients"} 0
galera_channel_encrypted{channel="replication"} 1
galera_channel_encrypted{channel="stateTransfer"} 0
# HELP galera_channel_plaintext_accepted Whether a connection without TLS was accepted; no series while that is not known.
# TYPE galera_channel_plaintext_accepted gauge
galera_channel_plaintext_accepted{channel="clients"} 1
galera_channel_plaintext_accepted{channel="replication"} 0
# HELP galera_peer_encrypted Whether only TLS was observed on port 4567 of another node; no series while that is not known.
# TYPE galera_peer_encrypted gauge
galera_peer_encrypted{peer="shop-0"} 1
# HELP galera_trusted_cas CA certificates the running server trusts, by whether they are still published. Galera drops one at a restart only.
# TYPE galera_trusted_cas gauge
galera_trusted_cas{published="false"} 1
galera_trusted_cas{published="true"} 1
# HELP galera_agent_info Versions of the agent, of mariadbd, and of Galera.
# TYPE galera_agent_info gauge
galera_agent_info{provider="26.4.23(r\"1\\\")",server="11.8.6-MariaDB",version="v1"} 1
# HELP galera_join_seconds Duration of the last, or running, join.
# TYPE galera_join_seconds gauge
galera_join_seconds{kind="SST"} 10
# HELP galera_join_last_progress_timestamp_seconds When a running join made progress last, in seconds since 1970.
# TYPE galera_join_last_progress_timestamp_seconds gauge
galera_join_last_progress_timestamp_seconds 1.800000001e+09
# HELP galera_transfers_given_total State transfers given to other nodes since the agent started.
# TYPE galera_transfers_given_total counter
galera_transfers_given_total{kind="IST"} 3
galera_transfers_given_total{kind="SST"} 0
`
	names := []string{"galera_channel_encrypted", "galera_channel_plaintext_accepted", "galera_peer_encrypted",
		"galera_trusted_cas", "galera_agent_info", "galera_join_seconds",
		"galera_join_last_progress_timestamp_seconds", "galera_transfers_given_total"}
	if err := testutil.CollectAndCompare(collector(NodeFamilies(), full()), strings.NewReader(want),
		names...); err != nil {
		t.Error(err)
	}
	ended := full()
	ended.Report.Join.EndedAt = new(noon.Add(4 * time.Second))
	const after = `# HELP galera_join_running Whether the node is joining.
# TYPE galera_join_running gauge
galera_join_running 0
# HELP galera_join_seconds Duration of the last, or running, join.
# TYPE galera_join_seconds gauge
galera_join_seconds{kind="SST"} 4
`
	if err := testutil.CollectAndCompare(collector(NodeFamilies(), ended), strings.NewReader(after), "galera_join_running",
		"galera_join_seconds",
		"galera_join_last_progress_timestamp_seconds"); err != nil {
		t.Error(err)
	}
}

// TestUnknownHasNoSeries: of an agent that has just started, nothing is exported that it does not know.
func TestUnknownHasNoSeries(t *testing.T) {
	c := collector(NodeFamilies(), Facts{Now: noon})
	for _, name := range []string{"galera_synced", "galera_primary_component", "galera_primary_node",
		"galera_last_committed", "galera_cache_window_seconds", "galera_data_bytes",
		"galera_volume_free_bytes", "galera_join_running", "galera_channel_encrypted",
		"galera_certificate_expiration_timestamp_seconds", "galera_agent_failure"} {
		if n := testutil.CollectAndCount(c, name); n != 0 {
			t.Errorf("%s: %d series", name, n)
		}
	}
}

// TestHandler: what is asked for is answered, and nothing else.
func TestHandler(t *testing.T) {
	h := NewHandler(collector(ArbitratorFamilies(), full()), nil)
	for query, want := range map[string]int{"": http.StatusOK, "?collect[]=galera": http.StatusOK,
		"?collect[]=global_status": http.StatusOK, "?collect[]=binlog_size": http.StatusBadRequest} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, agentapi.PathMetrics+query, nil))
		ours := strings.Contains(w.Body.String(), "galera_arbitrator_counted 1")
		if w.Code != want || ours != (query == "" || strings.HasSuffix(query, "galera")) {
			t.Errorf("%q: %d\n%s", query, w.Code, w.Body)
		}
	}
}

// TestBadLabelKeepsNothingBack: a version that is no text costs its own metric only.
func TestBadLabelKeepsNothingBack(t *testing.T) {
	f := full()
	f.Report.Image.ServerVersion = "\xff"
	w := httptest.NewRecorder()
	NewHandler(collector(NodeFamilies(), f), nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, agentapi.PathMetrics,
		nil))
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "galera_synced 1") ||
		strings.Contains(body, "galera_agent_info{") {
		t.Errorf("%d\n%s", w.Code, body)
	}
}

// names of all families, for the test of the dashboard and that of the documents.
func names() map[string]bool {
	out := map[string]bool{}
	for _, f := range join(NodeFamilies(), ArbitratorFamilies()) {
		out[f.Name] = true
	}
	return out
}
