package status

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// TestTooManyCAs: who has to do what until there is space for the CAs of the issued pair.
func TestTooManyCAs(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Namespace, c.Name = "prod", "shop"
	for name, tc := range map[string]struct {
		choice           plan.Publication
		message, command string
		blocked          bool
	}{
		"there is space": {plan.Publication{Step: plan.StepDistributingTrust}, "", "", false},
		"manual": {plan.Publication{TooMany: 17, Step: plan.StepAwaitingApproval, Old: []string{"a1", "b2"}},
			"they would trust 17, and they take no more than 16; drop old CAs first: name them in the annotation " +
				v1alpha1.AnnotationDropCA,
			"kubectl annotate --overwrite -n prod galeracluster shop " + v1alpha1.AnnotationDropCA + "=a1,b2", true},
		"a node is waited for": {plan.Publication{TooMany: 18, Step: plan.StepRotatingCertificates, Old: []string{"a1"},
			Waiting: []string{"shop-2"}}, "old CAs are dropped first, which waits for every node to present the published " +
			"certificate (shop-2)", "", false},
		"none can be dropped": {plan.Publication{TooMany: 17, Step: plan.StepSettled},
			"no CA can be dropped: let the issuer give only the CAs that its certificate needs", "", true},
	} {
		p := TooManyCAs(c, tc.choice)
		if p == nil {
			if tc.message != "" {
				t.Errorf("%s: no problem", name)
			}
			continue
		}
		if tc.message == "" || !strings.Contains(p.Message, tc.message) || p.Command != tc.command ||
			p.Blocked != tc.blocked || p.Reason != v1alpha1.ReasonCertificateRefused {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestTrustedCAsAreBounded: an API server refuses a status with more of them than it may have, and all else with it.
func TestTrustedCAsAreBounded(t *testing.T) {
	in := healthy()
	var cas []*x509.Certificate
	for range pki.MaxCAs {
		cas = append(cas, pki.Parse(pkitest.NewCA("ours").PEM)...)
	}
	in.Published.CAs = cas
	for name, seen := range in.Seen {
		seen.Report.TLS.Loaded = "x"
		for i := range pki.MaxCAs {
			seen.Report.TLS.TrustedCAs = append(seen.Report.TLS.TrustedCAs, fmt.Sprint(name, i))
		}
		in.Seen[name] = seen
	}
	out := trustedCAs(in)
	if len(out) != maxTrusted {
		t.Errorf("%d CAs", len(out))
	}
	for i, ca := range cas {
		if out[i].Fingerprint != pki.Fingerprint(ca) {
			t.Fatalf("published CA %d is left out", i)
		}
	}
}
