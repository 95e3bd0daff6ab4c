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

// TestEncryptionAtRestIsExported: what the spec asks for, and whether the nodes have the keys that they need: the
// Secret has them, and no node refuses its volume. Where none are needed, before they were read, and while they are
// made, there is no series.
func TestEncryptionAtRestIsExported(t *testing.T) {
	m := NewMetrics()
	recorded := &v1alpha1.AtRestStatus{State: v1alpha1.AtRestOn,
		Keys: []v1alpha1.EncryptionKeyStatus{{ID: "1", Fingerprint: "aa"}}}
	for name, c := range map[string]struct {
		spec    *v1alpha1.EncryptionSpec
		status  *v1alpha1.AtRestStatus
		keys    *observe.Keys
		failure string
	}{
		"plain": {},
		"new":   {spec: &v1alpha1.EncryptionSpec{}, keys: &observe.Keys{}},
		"missing": {spec: &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{
			KeysSecretRef: &v1alpha1.KeysSecretReference{Name: "mine"}}}, keys: &observe.Keys{}},
		"refused": {spec: &v1alpha1.EncryptionSpec{}, keys: &observe.Keys{Exists: true, Problem: "it is truncated"}},
		"volume":  {failure: agentapi.FailureKeys},
		"volumes": {spec: &v1alpha1.EncryptionSpec{}, status: recorded, failure: agentapi.FailureKeys,
			keys: &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "aa"}}},
		"failing": {spec: &v1alpha1.EncryptionSpec{}, status: recorded, failure: agentapi.FailureStart,
			keys: &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "aa"}}},
		"asked": {spec: &v1alpha1.EncryptionSpec{}, keys: &observe.Keys{Exists: true}},
		"good": {spec: &v1alpha1.EncryptionSpec{}, status: recorded,
			keys: &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "aa", "2": "bb"}}},
		"unread":    {spec: &v1alpha1.EncryptionSpec{}, status: recorded},
		"gone":      {spec: &v1alpha1.EncryptionSpec{}, status: recorded, keys: &observe.Keys{}},
		"truncated": {status: recorded, keys: &observe.Keys{Exists: true, Problem: "it is truncated"}},
		"others":    {status: recorded, keys: &observe.Keys{Exists: true, Fingerprints: map[string]string{"1": "bb"}}},
	} {
		in := status.Input{Facts: observe.Facts{Keys: c.keys,
			Cluster: &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{Encryption: c.spec}}},
			Snapshot: galera.Snapshot{Members: []galera.Member{{Name: "shop-0"}, {Name: "shop-1"}}}}
		if c.failure != "" {
			in.Snapshot.Members[1].Failure = &galera.Failure{Reason: c.failure}
		}
		m.see(types.NamespacedName{Namespace: "demo", Name: name}, in, v1alpha1.GaleraClusterStatus{AtRest: c.status})
	}
	want := `# HELP galera_operator_encryption_at_rest_required Whether the spec asks for encryption at rest.
# TYPE galera_operator_encryption_at_rest_required gauge
galera_operator_encryption_at_rest_required{cluster="asked",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="failing",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="gone",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="good",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="missing",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="new",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="others",namespace="demo"} 0
galera_operator_encryption_at_rest_required{cluster="plain",namespace="demo"} 0
galera_operator_encryption_at_rest_required{cluster="refused",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="truncated",namespace="demo"} 0
galera_operator_encryption_at_rest_required{cluster="unread",namespace="demo"} 1
galera_operator_encryption_at_rest_required{cluster="volume",namespace="demo"} 0
galera_operator_encryption_at_rest_required{cluster="volumes",namespace="demo"} 1
# HELP galera_operator_encryption_keys_usable Whether the Secret has the keys that the nodes need, with the same bytes, and each node can read its data with those that it has; no series where none are needed.
# TYPE galera_operator_encryption_keys_usable gauge
galera_operator_encryption_keys_usable{cluster="failing",namespace="demo"} 1
galera_operator_encryption_keys_usable{cluster="gone",namespace="demo"} 0
galera_operator_encryption_keys_usable{cluster="good",namespace="demo"} 1
galera_operator_encryption_keys_usable{cluster="missing",namespace="demo"} 0
galera_operator_encryption_keys_usable{cluster="others",namespace="demo"} 0
galera_operator_encryption_keys_usable{cluster="refused",namespace="demo"} 0
galera_operator_encryption_keys_usable{cluster="truncated",namespace="demo"} 0
galera_operator_encryption_keys_usable{cluster="volume",namespace="demo"} 0
galera_operator_encryption_keys_usable{cluster="volumes",namespace="demo"} 0
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want),
		"galera_operator_encryption_at_rest_required", "galera_operator_encryption_keys_usable"); err != nil {
		t.Error(err)
	}
}
