package pki_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestCheckMember: the key and the name decide who is a member, and no clock.
func TestCheckMember(t *testing.T) {
	ca, other := pkitest.NewCA("nodes"), pkitest.NewCA("nodes") // the same subject, another key
	over := pkitest.NewCAUntil("nodes", time.Now().Add(-time.Minute))
	mid := ca.Intermediate("mid")
	name := "shop-0.shop-nodes.demo.svc"
	issue := func(by pkitest.CA, l pkitest.Leaf) []byte { cert, _ := by.Issue(l); return cert }
	own := issue(ca, pkitest.Leaf{Names: []string{name}})
	for what, tc := range map[string]struct {
		chain, cas []byte
		names      []string
		ok         bool
	}{
		"of the cluster":                  {own, ca.PEM, []string{name}, true},
		"of one of several names":         {own, ca.PEM, []string{"shop-1.shop-nodes.demo.svc", name}, true},
		"by the old CA, both are trusted": {own, join(other.PEM, ca.PEM), []string{name}, true},
		"by the new CA, both are trusted": {issue(other, pkitest.Leaf{Names: []string{name}}), join(ca.PEM, other.PEM),
			[]string{name}, true},
		"by an intermediate": {join(issue(mid, pkitest.Leaf{Names: []string{name}}), mid.PEM), ca.PEM,
			[]string{name}, true},
		"expired": {issue(ca,
			pkitest.Leaf{Names: []string{name}, NotAfter: time.Now().Add(-time.Minute)}), ca.PEM, []string{name}, true},
		"not valid yet": {issue(ca,
			pkitest.Leaf{Names: []string{name}, NotBefore: time.Now().Add(time.Minute)}), ca.PEM, []string{name}, true},
		"of a CA that has expired": {issue(over, pkitest.Leaf{Names: []string{name}}), over.PEM, []string{name},
			true},
		"by a CA that was dropped": {own, other.PEM, []string{name}, false},
		"of another cluster, the same CA": {issue(ca, pkitest.Leaf{Names: []string{"cart-0.cart-nodes.demo.svc"}}), ca.PEM,
			[]string{name}, false},
		"of another namespace, the same CA": {issue(ca, pkitest.Leaf{Names: []string{"shop-0.shop-nodes.prod.svc"}}), ca.PEM,
			[]string{name}, false},
		"for servers only": {issue(ca,
			pkitest.Leaf{Names: []string{name}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}), ca.PEM, []string{name},
			false},
		"an intermediate without its root": {join(issue(mid, pkitest.Leaf{Names: []string{name}}), mid.PEM), mid.PEM,
			[]string{name}, false},
		"none":                               {nil, ca.PEM, []string{name}, false},
		"no CA is known":                     {own, nil, []string{name}, false},
		"no name is known":                   {own, ca.PEM, nil, false},
		"a chain that is longer than usable": {join(own, many(pki.MaxCAs)), ca.PEM, []string{name}, false},
	} {
		err := pki.CheckMember(pki.Parse(tc.chain), pki.Parse(tc.cas), x509.ExtKeyUsageClientAuth, tc.names...)
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCheckClient: one subject of one CA, within its dates.
func TestCheckClient(t *testing.T) {
	ca, other := pkitest.NewCA("clients"), pkitest.NewCA("clients")
	subject := pkix.Name{Organization: []string{"demo"}, CommonName: "shop-archiver"}
	issue := func(by pkitest.CA, l pkitest.Leaf) []byte { cert, _ := by.Issue(l); return cert }
	for what, tc := range map[string]struct {
		chain []byte
		ok    bool
	}{
		"the archiver":     {issue(ca, pkitest.Leaf{Subject: subject}), true},
		"of another CA":    {issue(other, pkitest.Leaf{Subject: subject}), false},
		"that has expired": {issue(ca, pkitest.Leaf{Subject: subject, NotAfter: time.Now().Add(-time.Minute)}), false},
		"another name": {issue(ca, pkitest.Leaf{Subject: pkix.Name{Organization: []string{"demo"}, CommonName: "app"}}),
			false},
		"of a tenant": {issue(ca, pkitest.Leaf{Subject: pkix.Name{Organization: []string{"other"},
			CommonName: "shop-archiver"}}), false},
		"of two organizations": {issue(ca, pkitest.Leaf{Subject: pkix.Name{Organization: []string{"demo", "other"},
			CommonName: "shop-archiver"}}), false},
		"without one": {issue(ca, pkitest.Leaf{Subject: pkix.Name{CommonName: "shop-archiver"}}), false},
		"none":        {nil, false},
	} {
		err := pki.CheckClient(pki.Parse(tc.chain), pki.Parse(ca.PEM), "demo", "shop-archiver", time.Now())
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func many(n int) (out []byte) {
	for range n {
		out = join(out, pkitest.NewCA("more").PEM)
	}
	return out
}
