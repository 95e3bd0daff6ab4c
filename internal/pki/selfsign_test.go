package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

// TestSelfSignServer: a server shows a certificate that is trusted by itself, for its names and within its time.
func TestSelfSignServer(t *testing.T) {
	now := time.Now()
	cert, key, err := SelfSignServer(now.Add(-time.Hour), now.Add(time.Hour), "shop-source.demo.svc")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	verify := func(name string, at time.Time) error {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		return err
	}
	if err := verify("shop-source.demo.svc", now); err != nil {
		t.Error(err)
	}
	if verify("other.demo.svc", now) == nil || verify("shop-source.demo.svc", now.Add(2*time.Hour)) == nil {
		t.Error("another name, or an expired one, is trusted")
	}
	again, _, err := SelfSignServer(now.Add(-time.Hour), now.Add(time.Hour), "shop-source.demo.svc")
	if err != nil || ID(again) == ID(cert) {
		t.Error("two are the same", err)
	}
}
