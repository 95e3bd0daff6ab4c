package galeracluster

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestRequestedPolicyIsExported: what the policy asks for and when the certificate is renewed; nothing before anything
// is published.
func TestRequestedPolicyIsExported(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return new(metav1.Unix(seconds, 0)) }
	m := NewMetrics()
	see := func(name string, c agentapi.TLSConfig, renewal *metav1.Time) {
		in := status.Input{Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{}}, Config: agentapi.NodeConfig{TLS: c}}
		m.see(types.NamespacedName{Namespace: "demo", Name: name}, in,
			v1alpha1.GaleraClusterStatus{TLS: &v1alpha1.ClusterTLSStatus{RenewalTime: renewal}})
	}
	see("shop", agentapi.TLSConfig{Replication: galera.SocketStrict, StateTransfer: galera.PolicyRequired,
		Clients: galera.PolicyPreferred}, at(1800004000))
	see("new", agentapi.TLSConfig{}, nil)
	want := `# HELP galera_operator_certificate_renewal_timestamp_seconds When cert-manager is, or was, to renew the published leaf, in seconds since 1970.
# TYPE galera_operator_certificate_renewal_timestamp_seconds gauge
galera_operator_certificate_renewal_timestamp_seconds{cluster="shop",namespace="demo"} 1.800004e+09
# HELP galera_operator_encryption_required Whether the policy in force asks for encryption of a channel.
# TYPE galera_operator_encryption_required gauge
galera_operator_encryption_required{channel="clients",cluster="shop",namespace="demo"} 0
galera_operator_encryption_required{channel="replication",cluster="shop",namespace="demo"} 1
galera_operator_encryption_required{channel="stateTransfer",cluster="shop",namespace="demo"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want),
		"galera_operator_certificate_renewal_timestamp_seconds", "galera_operator_encryption_required"); err != nil {
		t.Error(err)
	}
}
