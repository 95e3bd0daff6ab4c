package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"time"
)

// Parse returns the certificates in a PEM file, in order, each once; what cannot be read is left out.
func Parse(pemBytes []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for block, rest := pem.Decode(pemBytes); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil || slices.ContainsFunc(out, c.Equal) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// Encode returns certificates as a PEM file.
func Encode(certs []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range certs {
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}) // a Buffer takes everything
	}
	return b.Bytes()
}

// Fingerprint is the SHA-256 of a certificate in lower-case hexadecimal.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// Fingerprints returns those of the certificates in a PEM file, in order.
func Fingerprints(pemBytes []byte) []string {
	var out []string
	for _, c := range Parse(pemBytes) {
		out = append(out, Fingerprint(c))
	}
	return out
}

// ID names a set of files: it differs when anything in them does.
func ID(files ...[]byte) string {
	sum := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(sum, "%d:", len(f))
		_, _ = sum.Write(f)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// Anchors returns the fingerprints of those of cas that certPEM (leaf first, then intermediates)
// verifies by at now, each taken alone with the others as no more than links between.
func Anchors(certPEM []byte, cas []*x509.Certificate, now time.Time) []string {
	chain := Parse(certPEM)
	if len(chain) == 0 {
		return nil
	}
	chain = chain[:min(len(chain), MaxCAs)]
	cas = cas[:min(len(cas), 2*MaxCAs)] // of the published pair, and of the next one
	return verified.get(chain, cas, now)
}

// anchors verifies a chain by each root of cas.
func anchors(chain, cas []*x509.Certificate, now time.Time) []string {
	between := x509.NewCertPool()
	for _, link := range chain[1:] {
		between.AddCert(link)
	}
	var roots []*x509.Certificate
	for _, ca := range cas {
		if SelfSigned(ca) {
			roots = append(roots, ca)
		} else {
			between.AddCert(ca)
		}
	}
	var out []string
	for _, ca := range roots {
		root := x509.NewCertPool()
		root.AddCert(ca)
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: root, Intermediates: between, CurrentTime: now,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		if err == nil {
			out = append(out, Fingerprint(ca))
		}
	}
	return out
}

// Chain returns the fingerprints of those of cas that certPEM (leaf first, then intermediates) needs to verify at now:
// of several paths to a root those on the one that ends last. nil when there is none.
func Chain(certPEM []byte, cas []*x509.Certificate, now time.Time) []string {
	chain := Parse(certPEM)
	if len(chain) == 0 {
		return nil
	}
	cas = cas[:min(len(cas), 2*MaxCAs)] // of the published pair, and of the next one
	paths, err := pathsOf(chain[0], cas, chain[1:min(len(chain), MaxCAs)], x509.ExtKeyUsageAny, now)
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range slices.MaxFunc(paths, func(a, b []*x509.Certificate) int { return end(a).Compare(end(b)) }) {
		if slices.ContainsFunc(cas, c.Equal) {
			out = append(out, Fingerprint(c))
		}
	}
	return out
}

// end is when the first CA on the path of a leaf ends.
func end(path []*x509.Certificate) time.Time {
	cas := path[min(1, len(path)-1):] // a leaf may be its own CA
	return slices.MinFunc(cas, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
}

// MaxCAs is the most certificates that a file of a pair may hold: while a CA is replaced there are two, with links a
// few more.
const MaxCAs = 16

// tooMany reports whether a PEM file holds more blocks than that, without reading them.
func tooMany(pemBytes []byte) bool { return bytes.Count(pemBytes, []byte("-----BEGIN ")) > MaxCAs }

// SelfSigned reports whether a certificate is a root: OpenSSL, and with it mariadbd, ends a chain at no other.
func SelfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignatureFrom(c) == nil
}

// verify checks a leaf against the roots among cas; the others, and links, may lie between.
func verify(leaf *x509.Certificate, cas, links []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) error {
	_, err := pathsOf(leaf, cas, links, usage, now)
	return err
}

// pathsOf returns the chains by which a leaf verifies.
func pathsOf(leaf *x509.Certificate, cas, links []*x509.Certificate, usage x509.ExtKeyUsage, now time.Time) (
	[][]*x509.Certificate, error) {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range cas {
		if SelfSigned(c) {
			roots.AddCert(c)
		} else {
			between.AddCert(c)
		}
	}
	for _, c := range links {
		if !SelfSigned(c) {
			between.AddCert(c)
		}
	}
	return leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{usage}})
}
