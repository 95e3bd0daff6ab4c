package observe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/undecodable"
)

// proxies reads the proxies of a cluster. One that cannot be decoded may be one of them.
func (r Readers) proxies(ctx context.Context, f *Facts) error {
	var all v1alpha1.GaleraProxyList
	err := r.Cached.List(ctx, &all, client.InNamespace(f.Cluster.Namespace), undecodable.Complete{})
	f.ProxiesUnknown = err != nil
	var unknown *undecodable.Error
	switch {
	case errors.As(err, &unknown):
		return nil // reported where it is
	case err != nil:
		return fmt.Errorf("listing proxies: %w", err)
	}
	f.ProxyLeaves = map[string][]byte{}
	for _, p := range all.Items {
		if p.Spec.ClusterRef.Name != f.Cluster.Name {
			continue
		}
		f.Proxies = append(f.Proxies, p)
		issued := &corev1.Secret{}
		err := r.Cached.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: resources.ProxyIssuedName(&p)}, issued)
		if client.IgnoreNotFound(err) != nil {
			f.ProxiesUnknown = true
			return fmt.Errorf("reading the certificate of a proxy: %w", err)
		}
		f.ProxyLeaves[p.Name] = issued.Data[corev1.TLSCertKey]
	}
	return nil
}

// proxyUses are what proxies with pods do with the CAs that were issued. Clients verify a proxy by the CAs that are
// published, and so does the operator: an old one stays until every pod was seen presenting a leaf that verifies by the
// new one, as the issued leaf does. Where nodes offer clients no TLS, a proxy serves none.
func proxyUses(f Facts, cas []*x509.Certificate, issued galera.Pair, now time.Time) (out []galera.CertificateUse) {
	if f.Cluster.Spec.TLS.Clients == v1alpha1.TLSDisabled {
		return nil
	}
	if f.ProxiesUnknown {
		out = append(out, galera.CertificateUse{Name: "GaleraProxies that cannot be read", Loaded: true})
	}
	for i := range f.Proxies {
		p := &f.Proxies[i]
		if p.Status.Replicas == 0 {
			continue
		}
		leaf := f.ProxyLeaves[p.Name]
		of, chain := pki.Anchors(leaf, cas, now), pki.Parse(leaf)
		serves := len(chain) > 0 && pki.Pair{Leaf: chain[0]}.Serial() == p.Status.CertificateSerial &&
			!slices.ContainsFunc(issued.Anchors, func(fp string) bool {
				return slices.Contains(issued.CAs, fp) && !slices.Contains(of, fp)
			})
		out = append(out, galera.CertificateUse{Name: "GaleraProxy " + p.Name, Loaded: true, Serves: serves})
	}
	return out
}
