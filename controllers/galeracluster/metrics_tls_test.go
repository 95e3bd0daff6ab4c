package galeracluster

import (
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestWhatIsAskedFor: the time for the published pair, not for one that was refused; and nothing before anything is published.
func TestWhatIsAskedFor(t *testing.T) {
	at := func(seconds int64) *metav1.Time { return new(metav1.Unix(seconds, 0)) }
	issued := &certmanagerv1.Certificate{Status: certmanagerv1.CertificateStatus{NotAfter: at(1800009000), RenewalTime: at(1800008000)}}
	m := NewMetrics()
	see := func(name string, c agentapi.TLSConfig, issued *certmanagerv1.Certificate, published *metav1.Time) {
		in := status.Input{Facts: observe.Facts{Cluster: &v1alpha1.GaleraCluster{}, Certificate: issued}, Config: agentapi.NodeConfig{TLS: c}}
		m.see(types.NamespacedName{Namespace: "demo", Name: name}, in, v1alpha1.GaleraClusterStatus{TLS: &v1alpha1.ClusterTLSStatus{NotAfter: published}})
	}
	see("shop", agentapi.TLSConfig{Replication: galera.SocketStrict, StateTransfer: galera.PolicyRequired, Clients: galera.PolicyPreferred}, issued, at(1800005000))
	see("new", agentapi.TLSConfig{}, nil, nil)
	want := `# HELP galera_operator_certificate_renewal_timestamp_seconds When cert-manager is, or was, to renew the published leaf, in seconds since 1970.
# TYPE galera_operator_certificate_renewal_timestamp_seconds gauge
galera_operator_certificate_renewal_timestamp_seconds{cluster="shop",namespace="demo"} 1.800004e+09
# HELP galera_operator_encryption_required Whether the policy in force asks for encryption of a channel.
# TYPE galera_operator_encryption_required gauge
galera_operator_encryption_required{channel="clients",cluster="shop",namespace="demo"} 0
galera_operator_encryption_required{channel="replication",cluster="shop",namespace="demo"} 1
galera_operator_encryption_required{channel="stateTransfer",cluster="shop",namespace="demo"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "galera_operator_certificate_renewal_timestamp_seconds", "galera_operator_encryption_required"); err != nil {
		t.Error(err)
	}
}
