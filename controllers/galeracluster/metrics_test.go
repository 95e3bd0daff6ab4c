package galeracluster

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

func TestMetrics(t *testing.T) {
	m, key := NewMetrics(), types.NamespacedName{Namespace: "demo", Name: "shop"}
	end := metav1.NewTime(time.Now().Add(time.Hour))
	spec := v1alpha1.GaleraClusterSpec{Replicas: 3}
	m.see(key, status.Input{Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{Spec: spec}},
		Seen: map[string]observe.Seen{
			"shop-0": {Live: true, Report: agentapi.Report{TLS: agentapi.TLSReport{Reloads: 2, ReloadSeconds: 0.1,
				Channels: map[string]agentapi.ChannelFact{
					agentapi.ChannelReplication:   {Observed: agentapi.ObservedTLS},
					agentapi.ChannelClients:       {Observed: agentapi.ObservedMixed},
					agentapi.ChannelStateTransfer: {Observed: agentapi.ObservedUnknown}}}}},
			"shop-1": {},
		}}, v1alpha1.GaleraClusterStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionFalse},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown}},
		Replication: &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower,
			Archive: &v1alpha1.FollowedArchive{Through: new(metav1.Unix(1700000000, 0))}},
		ReadyReplicas: 2, Operation: &v1alpha1.OperationStatus{Type: "Recover", StartedAt: metav1.Unix(1800000000, 0)},
		TLS: &v1alpha1.ClusterTLSStatus{Serial: "01", NotAfter: &end,
			TrustedCAs: []v1alpha1.TrustedCA{{Fingerprint: "aa", NotAfter: &end}}},
	})
	want := `# HELP galera_operator_agent_up Whether a node's agent answers the operator.
# TYPE galera_operator_agent_up gauge
galera_operator_agent_up{cluster="shop",member="shop-0",namespace="demo"} 1
galera_operator_agent_up{cluster="shop",member="shop-1",namespace="demo"} 0
# HELP galera_operator_condition Whether a condition of a GaleraCluster is True (1) or False (0); no series while it is Unknown.
# TYPE galera_operator_condition gauge
galera_operator_condition{cluster="shop",condition="Available",namespace="demo"} 0
galera_operator_condition{cluster="shop",condition="Encrypted",namespace="demo"} 1
# HELP galera_operator_followed_archive_through_timestamp_seconds Time until which the archive that the cluster follows has everything that was committed, in seconds since 1970; no series for other clusters.
# TYPE galera_operator_followed_archive_through_timestamp_seconds gauge
galera_operator_followed_archive_through_timestamp_seconds{cluster="shop",namespace="demo"} 1.7e+09
# HELP galera_operator_nodes_synced Nodes that are Synced.
# TYPE galera_operator_nodes_synced gauge
galera_operator_nodes_synced{cluster="shop",namespace="demo"} 2
# HELP galera_operator_nodes_wanted Nodes that the spec asks for, 0 of a hibernated cluster.
# TYPE galera_operator_nodes_wanted gauge
galera_operator_nodes_wanted{cluster="shop",namespace="demo"} 3
# HELP galera_operator_operation_start_timestamp_seconds When the running operation began, in seconds since 1970; no series without one.
# TYPE galera_operator_operation_start_timestamp_seconds gauge
galera_operator_operation_start_timestamp_seconds{cluster="shop",namespace="demo",type="Recover"} 1.8e+09
# HELP galera_operator_plaintext_accepted Whether a channel of a node was seen to accept connections without TLS; no series while unknown.
# TYPE galera_operator_plaintext_accepted gauge
galera_operator_plaintext_accepted{channel="clients",cluster="shop",member="shop-0",namespace="demo"} 1
galera_operator_plaintext_accepted{channel="replication",cluster="shop",member="shop-0",namespace="demo"} 0
# HELP galera_operator_certificate_reloads_total Certificates a node's server has loaded while running, since its agent started.
# TYPE galera_operator_certificate_reloads_total counter
galera_operator_certificate_reloads_total{cluster="shop",member="shop-0",namespace="demo"} 2
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "galera_operator_agent_up",
		"galera_operator_condition", "galera_operator_followed_archive_through_timestamp_seconds",
		"galera_operator_nodes_synced",
		"galera_operator_nodes_wanted", "galera_operator_operation_start_timestamp_seconds",
		"galera_operator_plaintext_accepted", "galera_operator_certificate_reloads_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "galera_operator_certificate_expiration_timestamp_seconds"); n != 2 {
		t.Errorf("%d certificates, want the leaf and the CA", n)
	}
	if problems, err := testutil.CollectAndLint(m); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	m.forget(key)
	if n := testutil.CollectAndCount(m); n != 1 { // the histogram of outages is of all clusters
		t.Errorf("%d series of a cluster that is gone", n)
	}
}

// TestFollowedArchiveEnds: a cluster that has taken over raises no alert about the archive that it has followed.
func TestFollowedArchiveEnds(t *testing.T) {
	for role, want := range map[string]int{v1alpha1.RoleFollower: 1, v1alpha1.RoleIndependent: 0} {
		m := NewMetrics()
		m.see(types.NamespacedName{}, status.Input{Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{}}},
			v1alpha1.GaleraClusterStatus{Replication: &v1alpha1.ReplicationStatus{Role: role,
				Archive: &v1alpha1.FollowedArchive{Through: new(metav1.Unix(1700000000, 0))}}})
		if n := testutil.CollectAndCount(m, "galera_operator_followed_archive_through_timestamp_seconds"); n != want {
			t.Errorf("%s: %d series", role, n)
		}
	}
}

// TestSecondsBehind: how far a cluster is behind what it follows is reported while that is known, and until it has
// taken over.
func TestSecondsBehind(t *testing.T) {
	const follower, taken = v1alpha1.RoleFollower, v1alpha1.RoleIndependent
	for name, tc := range map[string]struct {
		of   *v1alpha1.ReplicationStatus
		want int64 // -1 for none
	}{
		"a server":               {&v1alpha1.ReplicationStatus{Role: follower, SecondsBehind: new(int64(77))}, 77},
		"all is applied":         {&v1alpha1.ReplicationStatus{Role: follower, SecondsBehind: new(int64(0))}, 0},
		"it is not known":        {&v1alpha1.ReplicationStatus{Role: follower}, -1},
		"it has taken over":      {&v1alpha1.ReplicationStatus{Role: taken, SecondsBehind: new(int64(7))}, -1},
		"a stream":               {streamed(true), 5},
		"a stream that is ended": {streamed(false), -1},
		"nothing is followed":    {nil, -1},
	} {
		have := int64(-1)
		if behind := secondsBehind(tc.of); behind != nil {
			have = *behind
		}
		if have != tc.want {
			t.Errorf("%s: %d", name, have)
		}
	}
	m := NewMetrics()
	m.see(types.NamespacedName{}, status.Input{Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{}}},
		v1alpha1.GaleraClusterStatus{Replication: streamed(true)})
	if n := testutil.CollectAndCount(m, "galera_operator_followed_seconds_behind"); n != 1 {
		t.Errorf("%d series", n)
	}
}

func streamed(connected bool) *v1alpha1.ReplicationStatus {
	return &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower,
		Stream: &v1alpha1.FollowedStream{Connected: connected, SecondsBehind: new(int64(5))}}
}

// TestFollowedStream: a cluster that is to be streamed to reports whether it is, from the beginning on and until it has
// taken over. Another one reports nothing.
func TestFollowedStream(t *testing.T) {
	const name = "galera_operator_followed_stream_connected"
	streams := &v1alpha1.ReplicaOf{Endpoints: []string{"db:3306"}}
	for text, tc := range map[string]struct {
		of     *v1alpha1.ReplicaOf
		role   string
		stream *v1alpha1.FollowedStream
		want   string
	}{
		"is streamed to":           {streams, v1alpha1.RoleFollower, &v1alpha1.FollowedStream{Connected: true}, "1"},
		"is not":                   {streams, v1alpha1.RoleFollower, &v1alpha1.FollowedStream{Error: "no"}, "0"},
		"is not known to be":       {streams, v1alpha1.RoleFollower, nil, "0"},
		"has taken over":           {streams, v1alpha1.RoleIndependent, nil, ""},
		"follows an archive alone": {&v1alpha1.ReplicaOf{}, v1alpha1.RoleFollower, nil, ""},
		"follows nothing":          {nil, v1alpha1.RoleFollower, nil, ""},
	} {
		m := NewMetrics()
		c := &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{ReplicaOf: tc.of}}
		m.see(types.NamespacedName{Namespace: "site", Name: "standby"}, status.Input{Facts: observe.Facts{Cluster: c}},
			v1alpha1.GaleraClusterStatus{Replication: &v1alpha1.ReplicationStatus{Role: tc.role, Stream: tc.stream}})
		want := ""
		if tc.want != "" {
			want = "# HELP " + name + " Whether the cluster is streamed to from one of spec.replicaOf.endpoints; no series " +
				"without those, nor for a cluster that has taken over.\n# TYPE " + name + " gauge\n" + name +
				"{cluster=\"standby\",namespace=\"site\"} " + tc.want + "\n"
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), name); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestWriteLeaseHeld: a cluster that wants a write lease reports whether it has it, and another one nothing.
func TestWriteLeaseHeld(t *testing.T) {
	const name = "galera_operator_write_lease_held"
	for text, tc := range map[string]struct {
		wanted, hibernate bool
		state, want       string
	}{
		"has it":           {true, false, v1alpha1.WriteLeaseHeld, "1"},
		"has lost it":      {true, false, v1alpha1.WriteLeaseEnded, "0"},
		"begins":           {true, false, v1alpha1.WriteLeaseStarting, "0"},
		"has not begun":    {true, false, "", "0"},
		"is hibernated":    {true, true, v1alpha1.WriteLeaseEnded, ""},
		"wants none":       {false, false, "", ""},
		"wants it no more": {false, false, v1alpha1.WriteLeaseEnding, ""},
	} {
		m := NewMetrics()
		c := &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{Hibernate: tc.hibernate,
			Backup: &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true, WriteLease: tc.wanted}}}}
		m.see(types.NamespacedName{Namespace: "demo", Name: "shop"}, status.Input{Facts: observe.Facts{Cluster: c}},
			v1alpha1.GaleraClusterStatus{WriteLease: tc.state})
		want := ""
		if tc.want != "" {
			want = "# HELP " + name + " Whether all nodes accept writes by the lease of the site only, and it is renewed; no " +
				"series for a cluster that wants none, or is hibernated.\n# TYPE " + name + " gauge\n" + name +
				"{cluster=\"shop\",namespace=\"demo\"} " + tc.want + "\n"
		}
		if err := testutil.CollectAndCompare(m, strings.NewReader(want), name); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestHostileAgentsMakeFewSeries: a hostile agent makes as many series as another one, with labels that are clipped:
// channels that do not exist are dropped when its report arrives.
func TestHostileAgentsMakeFewSeries(t *testing.T) {
	long := strings.Repeat("v", 4096)
	report := agentapi.Report{AgentVersion: long, Image: agentapi.ImageReport{ServerVersion: long,
		ProviderVersion: long + "\xff"},
		TLS: agentapi.TLSReport{Channels: map[string]agentapi.ChannelFact{}}}
	for _, channel := range append(slices.Clone(agentapi.Channels), "a", "b", long) {
		report.TLS.Channels[channel] = agentapi.ChannelFact{Observed: agentapi.ObservedTLS}
	}
	host, client := hostileAgent(t, report)
	got, err := client.Status(t.Context(), host, -1, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, key := NewMetrics(), types.NamespacedName{Namespace: "demo", Name: "shop"}
	m.see(key, status.Input{Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{}},
		Seen: map[string]observe.Seen{"shop-0": {Live: true, Report: got}}}, v1alpha1.GaleraClusterStatus{})
	if n := testutil.CollectAndCount(m, "galera_operator_plaintext_accepted"); n != len(agentapi.Channels) {
		t.Errorf("%d series for %d channels", n, len(agentapi.Channels))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.Metric {
			for _, l := range series.Label {
				if len(l.GetValue()) > 64 {
					t.Errorf("%s has a label of %d bytes", family.GetName(), len(l.GetValue()))
				}
			}
		}
	}
}

// hostileAgent serves a report that no agent makes.
func hostileAgent(t *testing.T, report agentapi.Report) (string, *agentapi.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(report) }))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return strings.TrimPrefix(server.URL, "https://"), agentapi.NewClient(tls.Certificate{}, pool, "example.com")
}

// TestHistory: each thing that happens to a cluster is counted once, when its status shows it.
func TestHistory(t *testing.T) {
	at := func(seconds int64) metav1.Time { return metav1.Unix(1800000000+seconds, 0) }
	condition := func(s metav1.ConditionStatus, reason string, since int64) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionAvailable, Status: s, Reason: reason,
			LastTransitionTime: at(since)}}
	}
	running := func(id, kind string, epoch int64) *v1alpha1.OperationStatus {
		return &v1alpha1.OperationStatus{ID: id, Type: kind, Epoch: epoch, StartedAt: at(0)}
	}
	switching := &v1alpha1.SwitchStatus{Strategy: "Rolling", StartedAt: at(0)}
	switched := &v1alpha1.SwitchStatus{Strategy: "Rolling", StartedAt: at(0), CompletedAt: new(at(40)),
		Outage: &metav1.Duration{Duration: 300 * time.Millisecond}}
	statuses := []v1alpha1.GaleraClusterStatus{
		{Primary: "shop-0", Conditions: condition(metav1.ConditionTrue, "Available", 0)},
		{Primary: "shop-0", Conditions: condition(metav1.ConditionFalse, "QuorumLost", 10),
			Operation: running("a", "Recover", 1)},
		{Primary: "shop-1", Conditions: condition(metav1.ConditionFalse, "PrimaryNotServing", 10),
			LastOperation: &v1alpha1.CompletedOperation{Type: "Recover", Epoch: 1, CompletedAt: at(7)}},
		{Primary: "shop-1", Conditions: condition(metav1.ConditionTrue, "Available", 18),
			Operation: running("b", "SwitchTLS", 2), TLS: &v1alpha1.ClusterTLSStatus{Switch: switching},
			LastOperation: &v1alpha1.CompletedOperation{Type: "Recover", Epoch: 1}},
		// its next node
		{Primary: "shop-1", Conditions: condition(metav1.ConditionTrue, "Available", 18),
			Operation: running("c", "SwitchTLS", 3), TLS: &v1alpha1.ClusterTLSStatus{Switch: switching}},
		{Primary: "shop-1", Conditions: condition(metav1.ConditionTrue, "Available", 18),
			TLS: &v1alpha1.ClusterTLSStatus{LastSwitch: switched}, LastOperation: &v1alpha1.CompletedOperation{Epoch: 1}},
		{Primary: "shop-1", Conditions: condition(metav1.ConditionTrue, "Available", 18),
			TLS: &v1alpha1.ClusterTLSStatus{LastSwitch: switched}},
		{Primary: "shop-1", Conditions: condition(metav1.ConditionFalse, v1alpha1.ReasonHibernated, 50)},
		{Primary: "shop-1", Conditions: condition(metav1.ConditionTrue, "Available", 500)},
	}
	m, key := NewMetrics(), types.NamespacedName{Namespace: "demo", Name: "shop"}
	for i := range statuses[1:] {
		m.count(key, statuses[i], statuses[i+1])
	}
	const want = `# HELP galera_operator_operations_total Operations that have ended, by type and result (Completed, Abandoned).
# TYPE galera_operator_operations_total counter
galera_operator_operations_total{cluster="shop",namespace="demo",result="Abandoned",type="SwitchTLS"} 1
galera_operator_operations_total{cluster="shop",namespace="demo",result="Completed",type="Recover"} 1
# HELP galera_operator_primary_moves_total Times another node has become the primary.
# TYPE galera_operator_primary_moves_total counter
galera_operator_primary_moves_total{cluster="shop",namespace="demo"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "galera_operator_operations_total",
		"galera_operator_primary_moves_total"); err != nil {
		t.Error(err)
	}
	for name, of := range map[string]struct{ count, sum float64 }{
		"galera_operator_operation_duration_seconds": {1, 7}, "galera_operator_switch_duration_seconds": {1, 40},
		"galera_operator_switch_outage_seconds": {1, 0.3}, "galera_operator_outage_duration_seconds": {1, 8},
	} {
		if count, sum := histogram(t, m, name); count != of.count || sum != of.sum {
			t.Errorf("%s: %v times, %v s in all; want %+v", name, count, sum, of)
		}
	}
	m.forget(key)
	if n := testutil.CollectAndCount(m, "galera_operator_operations_total",
		"galera_operator_primary_moves_total"); n != 0 {
		t.Errorf("%d series of a cluster that is gone", n)
	}
}

// histogram adds up the series of one.
func histogram(t *testing.T, c prometheus.Collector, name string) (count, sum float64) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				count, sum = count+float64(m.Histogram.GetSampleCount()), sum+m.Histogram.GetSampleSum()
			}
		}
	}
	return count, sum
}

// TestMetricsKeepNumbers: what a pass has read goes with it; of hundreds of clusters it would be most of the operator's
// memory.
func TestMetricsKeepNumbers(t *testing.T) {
	m, gone := NewMetrics(), make(chan struct{})
	func() {
		c, p := &v1alpha1.GaleraCluster{}, &corev1.Pod{}
		runtime.AddCleanup(p, func(gone chan struct{}) { close(gone) }, gone)
		m.see(types.NamespacedName{Namespace: "demo", Name: "shop"},
			status.Input{Facts: observe.Facts{Cluster: c, Pods: map[string]*corev1.Pod{"shop-0": p}}}, c.Status)
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			runtime.KeepAlive(m)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	runtime.KeepAlive(m)
	t.Error("the metrics keep a pod")
}
