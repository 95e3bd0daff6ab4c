package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestAProxyHoldsTheCAOfItsLeaf: an old CA stays until every pod of every proxy was seen with a leaf of the new one.
func TestAProxyHoldsTheCAOfItsLeaf(t *testing.T) {
	a, b := pkitest.NewCA("a"), pkitest.NewCA("b")
	old, _ := a.Issue(pkitest.Leaf{})
	next, _ := b.Issue(pkitest.Leaf{})
	renewed, _ := a.Renewed().Issue(pkitest.Leaf{})
	serial := func(crt []byte) string { return pki.Pair{Leaf: pki.Parse(crt)[0]}.Serial() }
	secret := func(crt []byte, cas ...pkitest.CA) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: crt}}
		for _, ca := range cas {
			s.Data[resources.CAKey] = append(s.Data[resources.CAKey], ca.PEM...)
		}
		return s
	}
	proxy := func(crt []byte, seen string, pods int32) (p v1alpha1.GaleraProxy, _ []byte) {
		p.Name, p.Status.Replicas, p.Status.CertificateSerial = "pool", pods, seen
		return p, crt
	}
	for name, tc := range map[string]struct {
		leaf    []byte
		seen    string
		pods    int32
		issued  *corev1.Secret
		unknown bool
		clients v1alpha1.ClientTLS
		waits   bool
	}{
		"the leaf is of the old CA":       {leaf: old, seen: serial(old), pods: 2, waits: true},
		"another was issued":              {leaf: next, seen: serial(old), pods: 2, waits: true},
		"the pods differ":                 {leaf: next, pods: 2, waits: true},
		"every pod presents it":           {leaf: next, seen: serial(next), pods: 2},
		"there is none":                   {pods: 2, waits: true},
		"there are no pods":               {leaf: old},
		"the CA was renewed with its key": {leaf: old, seen: serial(old), pods: 2, issued: secret(renewed, a)},
		"there may be others":             {leaf: next, seen: serial(next), pods: 2, unknown: true, waits: true},
		"it serves no clients":            {leaf: old, seen: serial(old), pods: 2, clients: v1alpha1.TLSDisabled},
	} {
		p, leaf := proxy(tc.leaf, tc.seen, tc.pods)
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Published: secret(next, a, b), ProxiesUnknown: tc.unknown,
			Proxies: []v1alpha1.GaleraProxy{p}, ProxyLeaves: map[string][]byte{"pool": leaf}}
		f.Cluster.Spec.TLS.Clients = tc.clients
		issued := tc.issued
		if issued == nil {
			issued = secret(next, b)
		}
		var waits bool
		for _, u := range Certificates(f, issued, nil, time.Now()).Members {
			if u.Name == "" || !u.Loaded {
				t.Errorf("%s: %+v", name, u)
			}
			waits = waits || !u.Serves
		}
		if waits != tc.waits {
			t.Errorf("%s: waits %v", name, waits)
		}
	}
}
