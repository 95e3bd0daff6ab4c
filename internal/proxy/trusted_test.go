package proxy

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestTrusted: pods are made anew when a CA that they were made with is trusted no longer, and for nothing else.
func TestTrusted(t *testing.T) {
	a, b := string(pkitest.NewCA("a").PEM), string(pkitest.NewCA("b").PEM)
	id := func(bundles ...string) string {
		return strings.Join(pki.Fingerprints([]byte(strings.Join(bundles, ""))), ",")
	}
	both := Trusted("", a+b)
	for name, tc := range map[string]struct{ recorded, bundle, want string }{
		"the first pods":               {"", a, id(a)},
		"the same CA":                  {id(a), a, id(a)},
		"another one comes":            {id(a), a + b, id(a)},
		"in another order":             {both, b + a, both},
		"the earlier one goes":         {id(a), b, id(b)},
		"one of two goes":              {both, b, id(b)},
		"the bundle cannot be read":    {id(a), "x", id(a)},
		"nothing is known of the pods": {"", "", ""},
	} {
		if got := Trusted(tc.recorded, tc.bundle); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if both != Trusted("", b+a) {
		t.Error("the order of the bundle counts")
	}
}
