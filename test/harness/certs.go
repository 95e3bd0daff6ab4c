package harness

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Pair is a certificate with its key and what its holder trusts, in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
	CA          []byte
}

// GenuinePair returns the pair that the cluster's nodes present.
func (c *Cluster) GenuinePair(ctx context.Context) (Pair, error) {
	var s corev1.Secret
	err := c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name + "-tls"}, &s)
	return Pair{Certificate: s.Data["tls.crt"], Key: s.Data["tls.key"], CA: s.Data["ca.crt"]}, err
}

// ForeignPair makes a pair that looks like the cluster's own in everything but the CA: names,
// usages, dates. It trusts the cluster's CA, so that only the other side can refuse.
func (c *Cluster) ForeignPair(ctx context.Context) (Pair, error) {
	genuine, err := c.GenuinePair(ctx)
	if err != nil {
		return Pair{}, err
	}
	block, _ := pem.Decode(genuine.Certificate)
	like, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Pair{}, err
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Some other CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: like.Subject, DNSNames: like.DNSNames, IPAddresses: like.IPAddresses,
		NotBefore: like.NotBefore, NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		CA:          bytes.Clone(genuine.CA),
	}, nil
}
