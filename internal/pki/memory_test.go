package pki_test

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestAnchorsAreRemembered: signatures are not verified again for the same question, and a date that has passed, or
// another CA, is another question.
func TestAnchorsAreRemembered(t *testing.T) {
	ca, now := pkitest.NewCA("ours"), time.Now()
	crt, _ := ca.Issue(pkitest.Leaf{NotAfter: now.Add(time.Hour)})
	cas := pki.Parse(join(ca.PEM, ca.Renewed().PEM))
	first := pki.Anchors(crt, cas, now)
	if len(first) != 2 {
		t.Fatalf("%v", first)
	}
	before := slices.Clone(first)
	first[0] = "changed by the caller"
	if again := pki.Anchors(crt, cas, now.Add(time.Minute)); !slices.Equal(again, before) {
		t.Errorf("%v, want %v", again, before)
	}
	if late := pki.Anchors(crt, cas, now.Add(2*time.Hour)); late != nil {
		t.Errorf("an expired leaf verifies by %v", late)
	}
	if one := pki.Anchors(crt, cas[:1], now); !slices.Equal(one, before[:1]) {
		t.Errorf("with one CA: %v", one)
	}
	other, _ := pkitest.NewCA("other").Issue(pkitest.Leaf{NotAfter: now.Add(time.Hour)})
	if got := pki.Anchors(other, cas, now); got != nil {
		t.Errorf("another leaf verifies by %v", got)
	}
	var leaves [][]byte
	for i := range 11 {
		leaf, _ := ca.Issue(pkitest.Leaf{NotAfter: now.Add(time.Hour + time.Duration(i+1)*time.Second)})
		leaves = append(leaves, leaf)
	}
	known := testing.AllocsPerRun(10, func() { pki.Anchors(crt, cas, now) })
	anew := testing.AllocsPerRun(10, func() {
		pki.Anchors(leaves[0], cas, now)
		leaves = leaves[1:]
	})
	if known > anew/2 {
		t.Errorf("a known question takes %.0f allocations, another one %.0f", known, anew)
	}
}
