package pki_test

import (
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

func TestAnchors(t *testing.T) {
	ca, other := pkitest.NewCA("ours"), pkitest.NewCA("ours") // the same subject, another key
	renewed := ca.Renewed()                                   // the same key, another certificate
	mid := ca.Intermediate("mid")
	direct, _ := ca.Issue(pkitest.Leaf{})
	chained, _ := mid.Issue(pkitest.Leaf{})
	cas := pki.Parse(join(other.PEM, ca.PEM, renewed.PEM, mid.PEM, ca.PEM))
	if len(cas) != 4 {
		t.Fatalf("%d certificates, the doubled one counted once", len(cas))
	}
	want := []string{pki.Fingerprint(cas[1]), pki.Fingerprint(cas[2])}
	for name, tc := range map[string]struct {
		cert []byte
		cas  []*x509.Certificate
		now  time.Time
		want []string
	}{
		"direct":                       {direct, cas, time.Now(), want},
		"the link in tls.crt":          {join(chained, mid.PEM), cas[:3], time.Now(), want},
		"the link in ca.crt":           {chained, cas, time.Now(), want},
		"the link nowhere":             {chained, cas[:3], time.Now(), nil},
		"an intermediate is no anchor": {chained, cas[3:], time.Now(), nil},
		"over":                         {direct, cas, time.Now().Add(3 * time.Hour), nil},
		"no certificate":               {nil, cas, time.Now(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pki.Anchors(tc.cert, tc.cas, tc.now); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// TestChain: what a leaf needs of a ca.crt is one path to a root, the one that lasts.
func TestChain(t *testing.T) {
	ca, other := pkitest.NewCA("ours"), pkitest.NewCA("ours") // the same subject, another key
	renewed := ca.Renewed()                                   // the same key, and it ends later
	mid := ca.Intermediate("mid")
	direct, _ := ca.Issue(pkitest.Leaf{})
	chained, _ := mid.Issue(pkitest.Leaf{})
	cas := pki.Parse(join(other.PEM, ca.PEM, mid.PEM, renewed.PEM))
	prints := pki.Fingerprints(join(other.PEM, ca.PEM, mid.PEM, renewed.PEM))
	const first, link, second = 1, 2, 3
	for name, tc := range map[string]struct {
		cert []byte
		cas  []*x509.Certificate
		now  time.Time
		want []string
	}{
		"the root that ends last": {direct, cas, time.Now(), []string{prints[second]}},
		"the only root":           {direct, cas[:link], time.Now(), []string{prints[first]}},
		"another root":            {direct, cas[:first], time.Now(), nil},
		"with the link":           {chained, cas[:second], time.Now(), []string{prints[link], prints[first]}},
		"the link in tls.crt":     {join(chained, mid.PEM), cas[:link], time.Now(), []string{prints[first]}},
		"the link nowhere":        {chained, cas[:link], time.Now(), nil},
		"the leaf is over":        {direct, cas, time.Now().Add(3 * time.Hour), nil},
		"no certificate":          {nil, cas, time.Now(), nil},
		"no CA":                   {direct, nil, time.Now(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pki.Chain(tc.cert, tc.cas, tc.now); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// TestManyCAs: a file with more certificates than any pair needs costs nothing, and is refused.
func TestManyCAs(t *testing.T) {
	ca := pkitest.NewCA("ours")
	crt, key := ca.Issue(pkitest.Leaf{})
	var others []byte
	for range pki.MaxCAs {
		others = join(others, pkitest.NewCA("ours").PEM)
	}
	var problem *pki.Problem
	_, err := pki.Check(crt, key, join(ca.PEM, others), nil, time.Now())
	if !errors.As(err, &problem) || problem.Reason != pki.ReasonTooMany {
		t.Errorf("a ca.crt of %d certificates: %v", pki.MaxCAs+1, err)
	}
	_, err = pki.Check(join(crt, others), key, ca.PEM, nil, time.Now())
	if !errors.As(err, &problem) || problem.Reason != pki.ReasonTooMany {
		t.Errorf("a tls.crt of %d certificates: %v", pki.MaxCAs+1, err)
	}
	cas := pki.Parse(ca.PEM)
	for range 2 * pki.MaxCAs {
		cas = append(pki.Parse(ca.Renewed().PEM), cas...)
	}
	if got := pki.Anchors(crt, cas, time.Now()); len(got) != 2*pki.MaxCAs {
		t.Errorf("%d of %d CAs are tried", len(got), len(cas))
	}
}

func TestEncode(t *testing.T) {
	both := join(pkitest.NewCA("a").PEM, pkitest.NewCA("b").PEM)
	if got := pki.Encode(pki.Parse(join([]byte("# a comment\n"), both))); string(got) != string(both) {
		t.Errorf("%s", got)
	}
	if pki.ID([]byte("a"), []byte("b")) == pki.ID([]byte("ab"), nil) {
		t.Error("the border between files does not count")
	}
}
