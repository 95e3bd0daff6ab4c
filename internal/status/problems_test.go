package status

import (
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestIssuerProblem: an issuer that is not ready is reported with the command that shows it. With a certificate there
// is no hurry.
func TestIssuerProblem(t *testing.T) {
	in := healthy()
	in.cluster().Namespace = "demo"
	in.Facts.Issuer = &certmanagerv1.IssuerStatus{Conditions: []certmanagerv1.IssuerCondition{
		{Type: certmanagerv1.IssuerConditionReady, Status: cmmeta.ConditionFalse, Message: "no Secret"}}}
	for kind, command := range map[string]string{"Issuer": "kubectl describe issuer company -n demo",
		"ClusterIssuer": "kubectl describe clusterissuer company"} {
		in.cluster().Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "company", Kind: kind}
		published := in.Published
		if p := issuer(in); published != nil && p != nil {
			t.Errorf("with a certificate: %+v", p)
		}
		without := in
		without.Published = nil
		p := issuer(without)
		if p == nil || p.Reason != v1alpha1.ReasonIssuerNotReady || !p.Blocked || !strings.Contains(p.Message,
			"is not ready: no Secret. ") || p.Command != command {
			t.Errorf("%s: %+v", kind, p)
		}
	}
}
