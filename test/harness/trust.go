package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trust verifies servers by the ConfigMap NAME-ca, and reads it again when that fails, as a client
// does that mounts it: the CA may have been replaced.
type trust struct {
	cluster *Cluster
	mu      sync.Mutex
	roots   *x509.CertPool
}

func (t *trust) read(ctx context.Context) error {
	var ca corev1.ConfigMap
	if err := t.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: t.cluster.Namespace, Name: t.cluster.Name + "-ca"},
		&ca); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca.Data["ca.crt"])) {
		return fmt.Errorf("the ConfigMap %s-ca holds no certificate under ca.crt", t.cluster.Name)
	}
	t.roots = roots
	return nil
}

// config is that of a client that dials serverName.
func (t *trust) config(serverName string) *tls.Config {
	return &tls.Config{
		ServerName: serverName, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does it, with what is trusted at that time
		VerifyConnection:   func(cs tls.ConnectionState) error { return t.verify(cs, serverName) },
	}
}

func (t *trust) verify(cs tls.ConnectionState, serverName string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check(cs, serverName) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if err := t.read(ctx); err != nil {
		return err
	}
	return t.check(cs, serverName)
}

func (t *trust) check(cs tls.ConnectionState, serverName string) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the server presented no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: t.roots, Intermediates: between, DNSName: serverName, CurrentTime: time.Now()})
	return err
}
