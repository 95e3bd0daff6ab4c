package proxy

import (
	"strings"
	"testing"

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
