package galeracluster

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/status"
)

// Metrics exports every cluster to Prometheus as of its last pass, and counts what has happened to them since the
// operator started. The series of a deleted cluster end. A nil one ignores everything.
type Metrics struct {
	history

	mu       sync.Mutex
	clusters map[types.NamespacedName][]sample
}

// sample is one series of a cluster. Only these are kept from one pass to the next: what they are made of is hundreds
// of times as large.
type sample struct {
	series *prometheus.Desc
	value  float64
	labels []string // without namespace and cluster
}

// NewMetrics returns the metrics of no cluster.
func NewMetrics() *Metrics {
	return &Metrics{history: newHistory(), clusters: map[types.NamespacedName][]sample{}}
}

var (
	perCluster = []string{"namespace", "cluster"}
	perMember  = []string{"namespace", "cluster", "member"}

	conditionNow = prometheus.NewDesc("galera_operator_condition",
		"Whether a condition of a GaleraCluster is True (1) or False (0); no series while it is Unknown.",
		append(perCluster, "condition"), nil)
	nodesWanted = prometheus.NewDesc("galera_operator_nodes_wanted",
		"Nodes that the spec asks for, 0 of a hibernated cluster.", perCluster, nil)
	nodesSynced = prometheus.NewDesc("galera_operator_nodes_synced",
		"Nodes that are Synced.", perCluster, nil)
	foreignMembers = prometheus.NewDesc("galera_operator_foreign_members",
		"Members of the Primary component that are not nodes of the cluster.", perCluster, nil)
	followedThrough = prometheus.NewDesc("galera_operator_followed_archive_through_timestamp_seconds",
		"Time until which the archive that the cluster follows has everything that was committed, in seconds since 1970; "+
			"no series for other clusters.", perCluster, nil)
	followedStream = prometheus.NewDesc("galera_operator_followed_stream_connected",
		"Whether the cluster is streamed to from one of spec.replicaOf.endpoints; no series without those, nor for a "+
			"cluster that has taken over.", perCluster, nil)
	followedBehind = prometheus.NewDesc("galera_operator_followed_seconds_behind",
		"Age of the transaction that the cluster applies of a server or a stream that it follows, 0 for none that is left; "+
			"no series while it is not known, nor for other clusters.", perCluster, nil)
	leaseHeld = prometheus.NewDesc("galera_operator_write_lease_held",
		"Whether all nodes accept writes by the lease of the site only, and it is renewed; no series for a cluster that "+
			"wants none, or is hibernated.", perCluster, nil)
	operationStart = prometheus.NewDesc("galera_operator_operation_start_timestamp_seconds",
		"When the running operation began, in seconds since 1970; no series without one.", append(perCluster, "type"), nil)
	certificateExpiration = prometheus.NewDesc("galera_operator_certificate_expiration_timestamp_seconds",
		"End of validity in seconds since 1970: of the published leaf, and of each CA that a node trusts.",
		append(perCluster, "kind", "id"), nil)
	memberInfo = prometheus.NewDesc("galera_operator_member_info",
		"Versions of a node's agent, of its mariadbd, and of Galera.", append(perMember, "agent", "server", "provider"), nil)
	agentUp = prometheus.NewDesc("galera_operator_agent_up",
		"Whether a node's agent answers the operator.", perMember, nil)
	agentOutdated = prometheus.NewDesc("galera_operator_agent_outdated",
		"Whether a node's agent is not the one of this operator; no series while it does not answer.",
		append(perMember, "version"), nil)
	plaintextAccepted = prometheus.NewDesc("galera_operator_plaintext_accepted",
		"Whether a channel of a node was seen to accept connections without TLS; no series while unknown.",
		append(perMember, "channel"), nil)
	reloads = prometheus.NewDesc("galera_operator_certificate_reloads_total",
		"Certificates a node's server has loaded while running, since its agent started.", perMember, nil)
	reloadSeconds = prometheus.NewDesc("galera_operator_certificate_reload_seconds",
		"Seconds that the last certificate took to load.", perMember, nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{conditionNow, nodesWanted, nodesSynced, foreignMembers, followedThrough,
		followedStream, followedBehind, leaseHeld, operationStart, certificateExpiration, memberInfo, agentUp, agentOutdated,
		plaintextAccepted, reloads, reloadSeconds, encryptionRequired, encryptionPartial, certificateRenewal,
		atRestRequired, keysUsable} {
		ch <- d
	}
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, samples := range m.clusters {
		for _, s := range samples {
			ch <- s.metric(key)
		}
	}
}

func (s sample) metric(key types.NamespacedName) prometheus.Metric {
	kind := prometheus.GaugeValue
	if s.series == reloads {
		kind = prometheus.CounterValue
	}
	m, err := prometheus.NewConstMetric(s.series, kind, s.value, append([]string{key.Namespace, key.Name}, s.labels...)...)
	if err != nil { // what an agent reports may be no text
		m = prometheus.NewInvalidMetric(s.series, err)
	}
	return m
}

// see remembers a pass.
func (m *Metrics) see(key types.NamespacedName, in status.Input, reported v1alpha1.GaleraClusterStatus) {
	if m == nil {
		return
	}
	samples := collect(in, reported)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clusters[key] = samples
}

// forget ends all series of a cluster.
func (m *Metrics) forget(key types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, key)
	m.history.forget(key)
}

// sender adds a series of one cluster.
type sender func(series *prometheus.Desc, value float64, labels ...string)

func collect(in status.Input, reported v1alpha1.GaleraClusterStatus) (out []sample) {
	send := func(series *prometheus.Desc, value float64, labels ...string) {
		out = append(out, sample{series, value, labels})
	}
	collectCluster(send, in.Facts.Cluster.Spec, reported)
	if c := in.Facts.Cluster; c.WantsWriteLease() && !c.Spec.Hibernate {
		send(leaseHeld, flag(reported.WriteLease == v1alpha1.WriteLeaseHeld))
	}
	send(foreignMembers, float64(len(in.Strangers.Members)))
	collectTLS(send, in, reported)
	collectAtRest(send, in, reported)
	for name, s := range in.Seen {
		send(agentUp, flag(s.Live), name)
		if s.Live {
			_, outdated := in.OutdatedAgents[name]
			collectMember(send, name, s.Report, outdated)
		}
	}
	return slices.Clip(out)
}

// secondsBehind is how far a cluster is behind the server that it follows, or the stream, nil while that is not known.
func secondsBehind(r *v1alpha1.ReplicationStatus) *int64 {
	switch {
	case r == nil || r.Role != v1alpha1.RoleFollower:
		return nil
	case r.SecondsBehind != nil:
		return r.SecondsBehind
	case r.Stream != nil && r.Stream.Connected:
		return r.Stream.SecondsBehind
	}
	return nil
}

func collectCluster(send sender, spec v1alpha1.GaleraClusterSpec, now v1alpha1.GaleraClusterStatus) {
	for _, c := range now.Conditions {
		if c.Status != metav1.ConditionUnknown {
			send(conditionNow, flag(c.Status == metav1.ConditionTrue), c.Type)
		}
	}
	wanted := float64(spec.Replicas)
	if spec.Hibernate {
		wanted = 0
	}
	send(nodesWanted, wanted)
	send(nodesSynced, float64(now.ReadyReplicas))
	if op := now.Operation; op != nil {
		send(operationStart, float64(op.StartedAt.Unix()), op.Type)
	}
	if r := now.Replication; r != nil && r.Role == v1alpha1.RoleFollower && r.Archive != nil && r.Archive.Through != nil {
		send(followedThrough, float64(r.Archive.Through.Unix()))
	}
	if behind := secondsBehind(now.Replication); behind != nil {
		send(followedBehind, float64(*behind))
	}
	if of := spec.ReplicaOf; of != nil && len(of.Endpoints) > 0 && now.Replication != nil &&
		now.Replication.Role == v1alpha1.RoleFollower {
		s := now.Replication.Stream
		send(followedStream, flag(s != nil && s.Connected))
	}
	end := func(t *metav1.Time, kind, id string) {
		if t != nil {
			send(certificateExpiration, float64(t.Unix()), kind, id)
		}
	}
	if tls := now.TLS; tls != nil {
		end(tls.NotAfter, "leaf", tls.Serial)
		for _, ca := range tls.TrustedCAs {
			end(ca.NotAfter, "ca", ca.Fingerprint)
		}
	}
}

func collectMember(send sender, name string, r agentapi.Report, outdated bool) {
	send(memberInfo, 1, name, label(r.AgentVersion), label(r.Image.ServerVersion), label(r.Image.ProviderVersion))
	send(agentOutdated, flag(outdated), name, label(r.AgentVersion))
	send(reloads, float64(r.TLS.Reloads), name)
	send(reloadSeconds, r.TLS.ReloadSeconds, name)
	for channel, fact := range r.TLS.Channels {
		if fact.Observed != agentapi.ObservedUnknown {
			send(plaintextAccepted, flag(fact.Observed != agentapi.ObservedTLS), name, channel)
		}
	}
}

// label is a text of an agent's as the value of a label, no longer than any version is.
func label(text string) string {
	const most = 64
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// span is a duration between two times of a status.
func span(from, to metav1.Time) float64 { return max(0, to.Sub(from.Time)).Seconds() }
