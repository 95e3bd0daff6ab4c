package proxy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestTrusted: pods are made anew when a CA that they were given is trusted no longer, and for nothing else.
func TestTrusted(t *testing.T) {
	a, b := string(pkitest.NewCA("a").PEM), string(pkitest.NewCA("b").PEM)
	id := func(bundle string) string { return strings.Join(pki.Fingerprints([]byte(bundle)), ",") }
	both := Trusted(Trust{}, "", a+b).Given
	for name, tc := range map[string]struct {
		recorded          Trust
		published, bundle string
		want              Trust
	}{
		"the first pods":             {Trust{}, "", a, Trust{id(a), id(a)}},
		"the same CA":                {Trust{id(a), id(a)}, a, a, Trust{id(a), id(a)}},
		"another one comes":          {Trust{id(a), id(a)}, a, a + b, Trust{id(a), both}},
		"in another order":           {Trust{both, both}, a + b, b + a, Trust{both, both}},
		"the earlier one goes":       {Trust{id(a), id(a)}, a, b, Trust{id(b) + "#1", id(b)}},
		"one of two goes":            {Trust{both, both}, a + b, b, Trust{id(b) + "#1", id(b)}},
		"the later one goes":         {Trust{id(a), both}, a + b, a, Trust{id(a) + "#1", id(a)}},
		"it goes again":              {Trust{id(a) + "#1", both}, a + b, a, Trust{id(a) + "#2", id(a)}},
		"after that":                 {Trust{id(a) + "#1", id(a)}, a, a, Trust{id(a) + "#1", id(a)}},
		"one was only published":     {Trust{id(a), id(a)}, a + b, a, Trust{id(a) + "#1", id(a)}},
		"its going was published":    {Trust{id(a), both}, a, a, Trust{id(a) + "#1", id(a)}},
		"what they were given lacks": {Trust{id(a), ""}, a, a + b, Trust{id(a), both}},
		"and one goes":               {Trust{both, ""}, b, b, Trust{id(b) + "#1", id(b)}},
		"the bundle cannot be read":  {Trust{id(a), both}, a, "x", Trust{id(a), both}},
		"there is no bundle":         {Trust{}, "", "", Trust{}},
	} {
		if got := Trusted(tc.recorded, tc.published, tc.bundle); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if both != Trusted(Trust{}, "", b+a).Given {
		t.Error("the order of the bundle counts")
	}
}

// TestOfAnotherCA: a leaf is issued anew once the nodes present one of another CA, and not again when the issuer goes
// on with the CA of before.
func TestOfAnotherCA(t *testing.T) {
	a, b := pkitest.NewCA("a"), pkitest.NewCA("b")
	renewed := a.Renewed()
	now := time.Now()
	leaf := func(ca pkitest.CA, minutes int) []byte {
		crt, _ := ca.Issue(pkitest.Leaf{NotBefore: now.Add(-time.Duration(minutes) * time.Minute)})
		return crt
	}
	both := slices.Concat(a.PEM, b.PEM)
	for name, tc := range map[string]struct {
		own, nodes, trusted []byte
		want                bool
	}{
		"one CA":                                {leaf(a, 9), leaf(a, 5), a.PEM, false},
		"both are trusted, and nodes have old":  {leaf(a, 9), leaf(a, 10), both, false},
		"both are trusted, and nodes have new":  {leaf(a, 9), leaf(b, 5), both, true},
		"the old one is gone":                   {leaf(a, 9), leaf(b, 5), b.PEM, true},
		"it was issued anew":                    {leaf(b, 4), leaf(b, 5), both, false},
		"the new one is taken back":             {leaf(b, 4), leaf(a, 3), both, true},
		"the issuer goes on with the old one":   {leaf(a, 4), leaf(b, 5), both, false},
		"the CA was renewed with its key":       {leaf(a, 9), leaf(renewed, 5), slices.Concat(a.PEM, renewed.PEM), false},
		"the nodes' leaf verifies by no CA":     {leaf(a, 9), leaf(b, 5), a.PEM, false},
		"there is no leaf":                      {nil, leaf(b, 5), both, false},
		"the nodes have none":                   {leaf(a, 9), nil, both, false},
		"the trusted CAs cannot be read":        {leaf(a, 9), leaf(b, 5), []byte("x"), false},
		"neither leaf, nor CAs, can be read":    {[]byte("x"), []byte("x"), nil, false},
		"of two that the nodes' leaf ends with": {leaf(a, 9), leaf(renewed, 5), renewed.PEM, false},
	} {
		if got := OfAnotherCA(tc.own, tc.nodes, tc.trusted, now); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
