package pki_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"math/big"
	"testing"

	"github.com/galera-operator/galera-operator/internal/pki"
)

func TestKey(t *testing.T) {
	for want, key := range map[string]any{
		"ECDSA-384": &ecdsa.PublicKey{Curve: elliptic.P384()},
		"RSA-3072":  &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 3071)},
	} {
		if got := (pki.Pair{Leaf: &x509.Certificate{PublicKey: key}}).Key(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
