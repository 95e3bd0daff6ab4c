package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// Material is the content of the mounted Secret.
type Material struct {
	Cert, Key, CA, ControlCA, ClientCA []byte
}

// Bundle is a judged Material.
type Bundle struct {
	Material Material
	// Serial and NotAfter are the leaf's, as far as it could be read.
	Serial   string
	NotAfter time.Time
	// CAs are the fingerprints of the certificates in ca.crt.
	CAs []string
	// Problem explains why the pair must not be used, nil when it may.
	Problem error
	// Pair is the key pair for the agent's own server, valid without Problem.
	Pair tls.Certificate
	// Roots is ca.crt as a pool, ControlRoots is control-ca.crt.
	Roots, ControlRoots *x509.CertPool
	// ID differs when anything of the pair or ca.crt differs.
	ID string
}

// KeyKind is the kind of the leaf's key, ECDSA or RSA; "" of no pair.
func (b Bundle) KeyKind() string {
	if b.Pair.Leaf == nil {
		return ""
	}
	return b.Pair.Leaf.PublicKeyAlgorithm.String()
}

// Read reads the mounted Secret through the ..data link once, so that all files are of one version.
func Read(dir string) (Material, error) {
	if target, err := os.Readlink(filepath.Join(dir, "..data")); err == nil {
		dir = filepath.Join(dir, target)
	}
	var m Material
	var errs []error
	for name, into := range map[string]*[]byte{
		"tls.crt": &m.Cert, "tls.key": &m.Key, "ca.crt": &m.CA, agentapi.ControlCAKey: &m.ControlCA,
		agentapi.ClientCAKey: &m.ClientCA,
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			errs = append(errs, err)
		}
		*into = data
	}
	return m, errors.Join(errs...)
}

// Judge checks a Material at a moment.
func Judge(m Material, now time.Time) Bundle {
	b := Bundle{Material: m, CAs: pki.Fingerprints(m.CA), Roots: x509.NewCertPool(), ControlRoots: x509.NewCertPool()}
	b.ID = pki.ID(m.Cert, m.Key, m.CA, m.ClientCA)
	b.Roots.AppendCertsFromPEM(m.CA)
	b.ControlRoots.AppendCertsFromPEM(m.ControlCA)
	pair, err := pki.Check(m.Cert, m.Key, m.CA, nil, now)
	if pair.Leaf != nil {
		b.Serial, b.NotAfter = pair.Serial(), pair.Leaf.NotAfter
	}
	if err != nil {
		b.Problem = err
		return b
	}
	b.Pair, b.Problem = tls.X509KeyPair(m.Cert, m.Key)
	return b
}

func certificates(pemBytes []byte) [][]byte {
	var out [][]byte
	for block, rest := pem.Decode(pemBytes); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			out = append(out, block.Bytes)
		}
	}
	return out
}

// transferCA is ca.crt with the pair's intermediate certificates added: the transfer scripts
// check the pair with "openssl verify -CAfile", which looks nowhere else for them.
func transferCA(m Material) []byte {
	var b strings.Builder
	b.Write(lines(m.CA))
	for i, der := range certificates(m.Cert) {
		if i > 0 {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		}
	}
	return []byte(b.String())
}

// servedChain is the pair's certificate with the intermediates that only ca.crt has: port 3306 trusts another CA, so
// that OpenSSL does not find them by itself.
func servedChain(m Material) []byte {
	chain := pki.Parse(m.Cert)
	out := lines(m.Cert)
	for _, c := range pki.Parse(m.CA) {
		if !pki.SelfSigned(c) && !slices.ContainsFunc(chain, c.Equal) {
			out = append(out, pki.Encode([]*x509.Certificate{c})...)
		}
	}
	return out
}

// clientsCA is what port 3306 verifies clients' certificates by. While there is no CA of clients it is one that signs
// nothing: its key is thrown away. mariadbd without any would trust all authorities that the image knows.
func clientsCA(m Material) ([]byte, error) {
	if len(pki.Parse(m.ClientCA)) > 0 {
		return m.ClientCA, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "no client certificates"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// lines is a copy that ends with a line.
func lines(pemBytes []byte) []byte {
	out := slices.Clone(pemBytes)
	if n := len(out); n > 0 && out[n-1] != '\n' {
		out = append(out, '\n')
	}
	return out
}

// Install makes a bundle the one mariadbd uses: a new directory is written, then the symbolic
// link is swapped, then older directories go.
func Install(b Bundle, p platform.Places) error {
	if b.Problem != nil {
		return b.Problem
	}
	clientsCA, err := clientsCA(b.Material)
	if err != nil {
		return err
	}
	name := "tls-" + b.ID
	dir := filepath.Join(p.Run, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for file, data := range map[string][]byte{
		"tls.crt": servedChain(b.Material), "tls.key": b.Material.Key, "ca.crt": b.Material.CA,
		"transfer-ca.crt": transferCA(b.Material), "clients-ca.crt": clientsCA,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return err
		}
	}
	next := p.PrivateTLS() + ".next"
	_ = os.Remove(next)
	if err := os.Symlink(name, next); err != nil {
		return err
	}
	if err := os.Rename(next, p.PrivateTLS()); err != nil {
		return err
	}
	old, _ := filepath.Glob(filepath.Join(p.Run, "tls-*"))
	for _, d := range old {
		if d != dir {
			_ = os.RemoveAll(d)
		}
	}
	return nil
}
