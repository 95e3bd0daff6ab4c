// Package pkitest makes certificate authorities and certificates for tests.
package pkitest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// CA is a certificate authority.
type CA struct {
	cert *x509.Certificate
	key  crypto.Signer
	// PEM is its certificate.
	PEM []byte
}

// Leaf describes what to issue.
type Leaf struct {
	// Subject is the leaf's, without one its common name is leaf.
	Subject   pkix.Name
	Names     []string
	Usages    []x509.ExtKeyUsage
	NotBefore time.Time
	NotAfter  time.Time
}

// Both are the usages Galera needs.
var Both = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}

// NewCA returns a self-signed authority of that name, valid for an hour around now.
func NewCA(name string) CA { return NewCAUntil(name, time.Now().Add(time.Hour)) }

// NewCAUntil returns a self-signed authority that ends at a certain time.
func NewCAUntil(name string, end time.Time) CA { return root(name, newKey(), end) }

// LoadCA reads an authority that exists already.
func LoadCA(certPEM, keyPEM []byte) (CA, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return CA{}, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return CA{}, errors.New("the key cannot sign")
	}
	return CA{cert: pair.Leaf, key: key, PEM: certPEM}, nil
}

// KeyPEM is the authority's key.
func (ca CA) KeyPEM() []byte { return encodeKey(ca.key) }

// Renewed returns the authority with another certificate of the same name and key.
func (ca CA) Renewed() CA {
	return root(ca.cert.Subject.CommonName, ca.key, time.Now().Add(2*time.Hour))
}

func root(name string, key crypto.Signer, end time.Time) CA {
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return sign(t, t, key, key)
}

// Intermediate returns an authority signed by ca.
func (ca CA) Intermediate(name string) CA {
	key := newKey()
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	return sign(t, ca.cert, key, ca.key)
}

// Issue returns a certificate and its key in PEM; unset times mean an hour around now, unset
// usages mean Both.
func (ca CA) Issue(l Leaf) (cert, key []byte) {
	if l.NotBefore.IsZero() {
		l.NotBefore = time.Now().Add(-time.Hour)
	}
	if l.NotAfter.IsZero() {
		l.NotAfter = time.Now().Add(time.Hour)
	}
	if l.Usages == nil {
		l.Usages = Both
	}
	if l.Subject.CommonName == "" {
		l.Subject.CommonName = "leaf"
	}
	k := newKey()
	t := &x509.Certificate{
		SerialNumber: serial(), Subject: l.Subject, DNSNames: l.Names,
		NotBefore: l.NotBefore, NotAfter: l.NotAfter, ExtKeyUsage: l.Usages, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	return sign(t, ca.cert, k, ca.key).PEM, encodeKey(k)
}

func encodeKey(k crypto.Signer) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(k))})
}

func sign(template, parent *x509.Certificate, key, parentKey crypto.Signer) CA {
	der := must(x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey))
	return CA{cert: must(x509.ParseCertificate(der)), key: key,
		PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func newKey() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func serial() *big.Int { return must(rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))) }

// must is for what fails only when the machine has no randomness.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
