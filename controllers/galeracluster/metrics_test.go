package galeracluster

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

func TestMetrics(t *testing.T) {
	m, key := &Metrics{}, types.NamespacedName{Namespace: "demo", Name: "shop"}
	end := metav1.NewTime(time.Now().Add(time.Hour))
	m.see(key, status.Input{Seen: map[string]observe.Seen{
		"shop-0": {Live: true, Report: agentapi.Report{TLS: agentapi.TLSReport{Reloads: 2, ReloadSeconds: 0.1, Channels: map[string]agentapi.ChannelFact{
			agentapi.ChannelReplication: {Observed: agentapi.ObservedTLS}, agentapi.ChannelClients: {Observed: agentapi.ObservedMixed},
			agentapi.ChannelStateTransfer: {Observed: agentapi.ObservedUnknown}}}}},
		"shop-1": {},
	}}, v1alpha1.GaleraClusterStatus{
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: metav1.ConditionTrue}},
		TLS:        &v1alpha1.ClusterTLSStatus{Serial: "01", NotAfter: &end, TrustedCAs: []v1alpha1.TrustedCA{{Fingerprint: "aa", NotAfter: &end}}},
	})
	want := `# HELP galera_operator_plaintext_accepted Whether a channel of a node was seen to accept connections without TLS; no series while unknown.
# TYPE galera_operator_plaintext_accepted gauge
galera_operator_plaintext_accepted{channel="clients",cluster="shop",member="shop-0",namespace="demo"} 1
galera_operator_plaintext_accepted{channel="replication",cluster="shop",member="shop-0",namespace="demo"} 0
# HELP galera_operator_certificate_reloads_total Certificates a node's server has loaded while running, since its agent started.
# TYPE galera_operator_certificate_reloads_total counter
galera_operator_certificate_reloads_total{cluster="shop",member="shop-0",namespace="demo"} 2
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "galera_operator_plaintext_accepted", "galera_operator_certificate_reloads_total"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m, "galera_operator_certificate_expiry_seconds"); n != 2 {
		t.Errorf("%d certificates, want the leaf and the CA", n)
	}
	m.forget(key)
	if n := testutil.CollectAndCount(m); n != 0 {
		t.Errorf("%d series of a cluster that is gone", n)
	}
}
