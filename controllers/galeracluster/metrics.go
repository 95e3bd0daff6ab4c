package galeracluster

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/status"
)

// Metrics exports every cluster to Prometheus as of its last pass. The series of a deleted cluster
// end. The zero value is ready for use; a nil one ignores everything.
type Metrics struct {
	mu       sync.Mutex
	clusters map[types.NamespacedName]status.Input
}

var (
	perCluster = []string{"namespace", "cluster"}
	perMember  = []string{"namespace", "cluster", "member"}

	certificateExpiry = prometheus.NewDesc("galera_operator_certificate_expiry_seconds",
		"Seconds until a certificate expires, negative afterwards: the published leaf, and each CA that a node trusts.",
		append(perCluster, "kind", "id"), nil)
	encryptedNow = prometheus.NewDesc("galera_operator_encrypted",
		"Whether the condition Encrypted is True.", perCluster, nil)
	availableNow = prometheus.NewDesc("galera_operator_available",
		"Whether the condition Available is True: the cluster accepts writes.", perCluster, nil)
	certificatesValidNow = prometheus.NewDesc("galera_operator_certificates_valid",
		"Whether the condition CertificatesValid is True.", perCluster, nil)
	plaintextAccepted = prometheus.NewDesc("galera_operator_plaintext_accepted",
		"Whether a channel of a node was seen to accept connections without TLS; no series while unknown.",
		append(perMember, "channel"), nil)
	upToDateNow = prometheus.NewDesc("galera_operator_up_to_date",
		"Whether the condition UpToDate is True.", perCluster, nil)
	agentOutdated = prometheus.NewDesc("galera_operator_agent_outdated",
		"Whether a node's agent is not the one of this operator; no series while it does not answer.", append(perMember, "version"), nil)
	reloads = prometheus.NewDesc("galera_operator_certificate_reloads_total",
		"Certificates a node's server has loaded while running, since its agent started.", perMember, nil)
	reloadSeconds = prometheus.NewDesc("galera_operator_certificate_reload_seconds",
		"Seconds that the last certificate took to load.", perMember, nil)
)

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{certificateExpiry, availableNow, encryptedNow, certificatesValidNow, upToDateNow, agentOutdated, plaintextAccepted, reloads, reloadSeconds} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, in := range m.clusters {
		collect(ch, key, in, time.Now())
	}
}

// see remembers a pass.
func (m *Metrics) see(key types.NamespacedName, in status.Input, told v1alpha1.GaleraClusterStatus) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters == nil {
		m.clusters = map[types.NamespacedName]status.Input{}
	}
	in.Facts.Cluster = &v1alpha1.GaleraCluster{Status: told}
	m.clusters[key] = in
}

// forget ends all series of a cluster.
func (m *Metrics) forget(key types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, key)
}

func collect(ch chan<- prometheus.Metric, key types.NamespacedName, in status.Input, now time.Time) {
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if d == reloads {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(d, kind, value, append([]string{key.Namespace, key.Name}, labels...)...)
	}
	until := func(t *metav1.Time, kind, id string) {
		if t != nil {
			send(certificateExpiry, t.Sub(now).Seconds(), kind, id)
		}
	}
	status := in.Facts.Cluster.Status
	send(availableNow, flag(meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionAvailable)))
	send(encryptedNow, flag(meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionEncrypted)))
	send(certificatesValidNow, flag(meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionCertificatesValid)))
	send(upToDateNow, flag(meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionUpToDate)))
	if tls := status.TLS; tls != nil {
		until(tls.NotAfter, "leaf", tls.Serial)
		for _, ca := range tls.TrustedCAs {
			until(ca.NotAfter, "ca", ca.Fingerprint)
		}
	}
	for name, s := range in.Seen {
		if !s.Live {
			continue
		}
		_, outdated := in.OutdatedAgents[name]
		send(agentOutdated, flag(outdated), name, s.Report.AgentVersion)
		send(reloads, float64(s.Report.TLS.Reloads), name)
		send(reloadSeconds, s.Report.TLS.ReloadSeconds, name)
		for channel, fact := range s.Report.TLS.Channels {
			if fact.Observed != agentapi.ObservedUnknown {
				send(plaintextAccepted, flag(fact.Observed != agentapi.ObservedTLS), name, channel)
			}
		}
	}
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
