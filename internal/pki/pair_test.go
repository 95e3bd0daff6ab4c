package pki_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

func TestCheck(t *testing.T) {
	ca, other := pkitest.NewCA("ours"), pkitest.NewCA("theirs")
	now := time.Now()
	names := []string{"shop-0.shop-nodes.demo.svc"}
	good, goodKey := ca.Issue(pkitest.Leaf{Names: []string{"*.shop-nodes.demo.svc"}})
	_, otherKey := ca.Issue(pkitest.Leaf{})
	mid := ca.Intermediate("mid")
	expiredCA := pkitest.NewCAUntil("expired", now.Add(-time.Minute))
	chained, chainedKey := mid.Issue(pkitest.Leaf{Names: names})

	for name, tc := range map[string]struct {
		cert, key, ca []byte
		want          string // reason, "" when good
	}{
		"good":              {good, goodKey, ca.PEM, ""},
		"good, old and new": {good, goodKey, join(other.PEM, ca.PEM), ""},
		"with intermediate": {join(chained, mid.PEM), chainedKey, ca.PEM, ""},
		"intermediate left": {chained, chainedKey, ca.PEM, pki.ReasonForeignCA},
		"key of another":    {good, otherKey, ca.PEM, pki.ReasonKeyMismatch},
		"no key":            {good, nil, ca.PEM, pki.ReasonIncomplete},
		"truncated":         {good[:len(good)/2], goodKey, ca.PEM, pki.ReasonMalformed},
		"encrypted key": {good,
			pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("no key")}), ca.PEM,
			pki.ReasonKeyEncrypted},
		"old PEM encryption": {good,
			pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("no key"),
				Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}}), ca.PEM,
			pki.ReasonKeyEncrypted},
		"truncated key":      {good, goodKey[:len(goodKey)/2], ca.PEM, pki.ReasonMalformed},
		"no certificate":     {nil, goodKey, ca.PEM, pki.ReasonIncomplete},
		"no ca":              {good, goodKey, nil, pki.ReasonNoCA},
		"truncated ca":       {good, goodKey, ca.PEM[:len(ca.PEM)/2], pki.ReasonNoCA},
		"intermediate as ca": {chained, chainedKey, mid.PEM, pki.ReasonNoRoot},
		"both in ca.crt":     {chained, chainedKey, join(mid.PEM, ca.PEM), ""},
		"ca has expired":     leaf(expiredCA, pkitest.Leaf{Names: names}, pki.ReasonCAExpired),
		"foreign ca":         {good, goodKey, other.PEM, pki.ReasonForeignCA},
		"server auth only": leaf(ca, pkitest.Leaf{Names: names, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
			pki.ReasonWrongUsage),
		"client auth only": leaf(ca, pkitest.Leaf{Names: names, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
			pki.ReasonWrongUsage),
		"expired":            leaf(ca, pkitest.Leaf{Names: names, NotAfter: now.Add(-time.Minute)}, pki.ReasonExpired),
		"not yet valid":      leaf(ca, pkitest.Leaf{Names: names, NotBefore: now.Add(time.Minute)}, pki.ReasonNotYetValid),
		"another pod's name": leaf(ca, pkitest.Leaf{Names: []string{"cart-0.cart-nodes.demo.svc"}}, pki.ReasonNameMissing),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pki.Check(tc.cert, tc.key, tc.ca, names, now)
			if got := reason(err); got != tc.want {
				t.Errorf("reason %q, want %q (%v)", got, tc.want, err)
			}
		})
	}
}

type testCase = struct {
	cert, key, ca []byte
	want          string
}

func leaf(ca pkitest.CA, l pkitest.Leaf, want string) testCase {
	cert, key := ca.Issue(l)
	return testCase{cert, key, ca.PEM, want}
}

func join(pems ...[]byte) []byte { return bytes.Join(pems, nil) }

func reason(err error) string {
	var p *pki.Problem
	if errors.As(err, &p) {
		return p.Reason
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
