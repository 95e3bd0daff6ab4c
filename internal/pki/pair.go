// Package pki judges certificates. It is pure: the caller gives the bytes and the time.
package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Problem is why a pair may not be used, in one word for machines and a sentence for users.
type Problem struct {
	Reason  string
	Message string
}

// Error makes a Problem an error.
func (p *Problem) Error() string { return p.Message }

// Reasons of a Problem.
const (
	ReasonMalformed     = "Malformed"
	ReasonTooMany       = "TooMany"
	ReasonKeyEncrypted  = "KeyEncrypted"
	ReasonKeyMismatch   = "KeyMismatch"
	ReasonNoCA          = "CAMissing"
	ReasonNoRoot        = "RootMissing"
	ReasonForeignCA     = "ForeignCA"
	ReasonCAExpired     = "CAExpired"
	ReasonWrongUsage    = "WrongUsage"
	ReasonNotYetValid   = "NotYetValid"
	ReasonExpired       = "Expired"
	ReasonNameMissing   = "NameMissing"
	ReasonIncomplete    = "Incomplete"
	serialBase          = 16
	encryptedPKCS8Block = "ENCRYPTED PRIVATE KEY"
)

// Pair is a checked certificate with what reports and status show of it.
type Pair struct {
	Leaf *x509.Certificate
}

// Serial is the leaf's serial number in lower-case hexadecimal.
func (p Pair) Serial() string { return p.Leaf.SerialNumber.Text(serialBase) }

// Key is the kind and size of the leaf's key in the words of spec.tls.certificate.privateKey, such as ECDSA-256.
func (p Pair) Key() string {
	algorithm, size := KeyOf(p.Leaf)
	return fmt.Sprintf("%s-%d", algorithm, size)
}

// KeyOf returns the kind (RSA, ECDSA) and the size in bits of a certificate's key; the size of any other is 0.
func KeyOf(c *x509.Certificate) (algorithm string, size int) {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return "RSA", k.N.BitLen()
	case *ecdsa.PublicKey:
		return "ECDSA", k.Curve.Params().BitSize
	}
	return c.PublicKeyAlgorithm.String(), 0
}

// Check judges whether certPEM (leaf first, then intermediates) and keyPEM may be given to
// database nodes that trust caPEM: the key matches, the chain leads to the CA, both usages are
// there (Galera needs serverAuth and clientAuth), the dates hold at now, and every one of names is
// covered. It returns a *Problem as error when not. A pair that has expired is returned with
// its Problem, so that the dates can be shown.
func Check(certPEM, keyPEM, caPEM []byte, names []string, now time.Time) (Pair, error) {
	switch {
	case len(certPEM) == 0:
		return Pair{}, &Problem{ReasonIncomplete, "tls.crt is missing"}
	case len(keyPEM) == 0:
		return Pair{}, &Problem{ReasonIncomplete, "tls.key is missing"}
	case tooMany(certPEM), tooMany(caPEM):
		return Pair{}, &Problem{ReasonTooMany, fmt.Sprintf(
			"tls.crt or ca.crt holds more than %d certificates; leave those that the chain needs", MaxCAs)}
	}
	if isEncrypted(keyPEM) {
		return Pair{}, &Problem{ReasonKeyEncrypted,
			"the private key is encrypted with a passphrase; issue it without one, because a server cannot enter it"}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return Pair{}, keyPairProblem(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return Pair{}, &Problem{ReasonMalformed, "the certificate cannot be read: " + err.Error()}
	}
	p := Pair{Leaf: leaf}
	if err := checkDates(leaf, now); err != nil {
		return p, err
	}
	if err := checkChain(leaf, pair.Certificate[1:], caPEM, now); err != nil {
		return p, err
	}
	for _, n := range names {
		if leaf.VerifyHostname(n) != nil {
			return p, &Problem{ReasonNameMissing, fmt.Sprintf("the certificate is not valid for %s", n)}
		}
	}
	return p, nil
}

func isEncrypted(keyPEM []byte) bool {
	block, _ := pem.Decode(keyPEM)
	return block != nil && (block.Type == encryptedPKCS8Block || bytes.Contains(keyPEM, []byte("Proc-Type: 4,ENCRYPTED")))
}

func keyPairProblem(err error) *Problem {
	if bytes.Contains([]byte(err.Error()), []byte("does not match")) {
		return &Problem{ReasonKeyMismatch, "the private key does not belong to the certificate"}
	}
	return &Problem{ReasonMalformed, "the certificate or its key cannot be read: " + err.Error()}
}

func checkDates(leaf *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(leaf.NotBefore):
		return &Problem{ReasonNotYetValid, "the certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)}
	case now.After(leaf.NotAfter):
		return &Problem{ReasonExpired, "the certificate expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)}
	}
	return nil
}

func checkChain(leaf *x509.Certificate, rest [][]byte, caPEM []byte, now time.Time) error {
	cas := Parse(caPEM)
	switch {
	case len(cas) == 0:
		return &Problem{ReasonNoCA,
			"ca.crt is missing, empty or cut off; the issuer must give its CA, because nodes verify each other by it"}
	case !slices.ContainsFunc(cas, SelfSigned):
		return &Problem{ReasonNoRoot,
			"ca.crt holds no root (self-signed) certificate, only an intermediate one, by which mariadbd verifies nothing; " +
				"let the issuer give the whole chain"}
	}
	var links []*x509.Certificate
	for _, der := range rest {
		if c, err := x509.ParseCertificate(der); err == nil {
			links = append(links, c)
		}
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if err := verify(leaf, cas, links, usage, now); err != nil {
			return chainProblem(err)
		}
	}
	return nil
}

func chainProblem(err error) *Problem {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) {
		switch invalid.Reason {
		case x509.IncompatibleUsage:
			return &Problem{ReasonWrongUsage,
				"the certificate lacks server auth or client auth; Galera nodes need both, being server and client to each other"}
		case x509.Expired:
			return &Problem{ReasonCAExpired, "a CA certificate of its chain is not valid now: " + err.Error()}
		}
	}
	return &Problem{ReasonForeignCA, "the certificate's chain does not lead to ca.crt: " + err.Error()}
}
