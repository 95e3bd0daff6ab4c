package publish

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestNoPairThatAgentsRefuse: each pair by itself has no more CAs than agents take; together they may have more.
func TestNoPairThatAgentsRefuse(t *testing.T) {
	const silent = "waits for every node to present the published certificate (shop-0)"
	now, ours, next := time.Now(), pkitest.NewCA("ours"), pkitest.NewCA("next")
	names := []string{"shop", "shop-0.shop-nodes.n.svc"}
	for name, tc := range map[string]struct {
		older, issued int // CAs in the published pair, and in the issued one, in addition to that of the leaf
		manual        bool
		published     int
		message       string
		blocked       bool
	}{
		"there is space":        {older: pki.MaxCAs - 2, published: pki.MaxCAs},
		"there is none":         {older: pki.MaxCAs - 1, published: pki.MaxCAs, message: silent},
		"there is none, manual": {older: pki.MaxCAs - 1, manual: true, published: pki.MaxCAs, message: silent},
		"two large bundles": {older: pki.MaxCAs / 2, issued: pki.MaxCAs / 2, published: pki.MaxCAs/2 + 1,
			message: silent},
		"no old ones": {issued: pki.MaxCAs - 1, published: 1, blocked: true,
			message: "let the issuer give only the CAs that its certificate needs"},
	} {
		t.Run(name, func(t *testing.T) {
			pair := func(ca pkitest.CA, others int) *corev1.Secret {
				crt, key := ca.Issue(pkitest.Leaf{Names: names})
				cas := ca.PEM
				for range others {
					cas = slices.Concat(cas, pkitest.NewCA("another").PEM)
				}
				return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "shop-issued"},
					Data: map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key, resources.CAKey: cas}}
			}
			c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "shop"}}
			c.Spec.Replicas = 1
			if tc.manual {
				c.Spec.TLS.DropOldCA = v1alpha1.DropManual
			}
			f := observe.Facts{Cluster: c, Published: pair(ours, tc.older), Issued: pair(next, tc.issued)}
			out, err := Publisher{ControlCA: func() ([]byte, error) { return nil, nil }}.tls(f, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			secret := out.objects[0].(*corev1.Secret)
			crt, key, cas := observe.PairOf(secret)
			if _, err := pki.Check(crt, key, cas, nil, now); err != nil {
				t.Errorf("the agents refuse it: %v", err)
			}
			if n := len(pki.Parse(cas)); n != tc.published {
				t.Errorf("%d CAs are published, want %d", n, tc.published)
			}
			if (out.refused != nil) != (tc.message != "") {
				t.Fatalf("refused: %+v", out.refused)
			}
			if p := out.refused; p != nil && (!strings.Contains(p.Message, tc.message) || p.Blocked != tc.blocked ||
				p.Reason != v1alpha1.ReasonCertificateRefused) {
				t.Errorf("%+v", p)
			}
			if tc.message != "" && out.pair.Choice.Step == plan.StepDistributingTrust {
				t.Error("its CAs are said to be distributed")
			}
		})
	}
}
