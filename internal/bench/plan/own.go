package plan

import (
	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Own is a referenced cluster's own policy: what arms can change as it was noted before the first change, and all else as it is.
func Own(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) v1alpha1.TLSSpec {
	n := b.Status.RestoreTLS
	if n == nil {
		return c.Spec.TLS
	}
	own := v1alpha1.TLSSpec{Replication: n.Replication, StateTransfer: n.StateTransfer, Clients: n.Clients, MinVersion: n.MinVersion, Cipher: n.Cipher}
	if n.PrivateKey != nil {
		own.Certificate.PrivateKey = *n.PrivateKey
	}
	return WithPart(c.Spec.TLS, own)
}

// Note returns, for Own, what of a policy arms can change. The rest may be long, and somebody else's to change meanwhile.
func Note(t v1alpha1.TLSSpec) *v1alpha1.BenchmarkTLS {
	key := t.Certificate.PrivateKey
	return &v1alpha1.BenchmarkTLS{Replication: t.Replication, StateTransfer: t.StateTransfer, Clients: t.Clients, MinVersion: t.MinVersion, Cipher: t.Cipher, PrivateKey: &key}
}
