package status

import (
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestConfigurationProblem: only refused settings are corrected in the spec.
func TestConfigurationProblem(t *testing.T) {
	in := healthy()
	in.cluster().Name = "shop"
	for why, want := range map[agentapi.ConfigReason]struct{ reason, advice string }{
		agentapi.ConfigSettings:   {v1alpha1.ReasonSettingsRefused, "it is bad. Correct spec.mariadb.config; until then"},
		"":                        {v1alpha1.ReasonSettingsRefused, "it is bad. Correct spec.mariadb.config; until then"},
		agentapi.ConfigUnchecked:  {v1alpha1.ReasonMemberFailed, "it is bad. Give the node's host more processor time"},
		agentapi.ConfigUnreadable: {v1alpha1.ReasonMemberFailed, "it is bad. Check that the ConfigMap shop-config exists"},
		agentapi.ConfigInvalid:    {v1alpha1.ReasonMemberFailed, "it is bad. Check who else writes the ConfigMap shop-"},
		agentapi.ConfigNotWritten: {v1alpha1.ReasonMemberFailed, "it is bad. Check the storage of the node's host"},
	} {
		seen := in.Seen["n-1"]
		seen.Report.Config.Problem, seen.Report.Config.Reason = "it is bad", why
		in.Seen["n-1"] = seen
		p := configuration(in)
		if p == nil || p.Reason != want.reason || !p.Blocked || !strings.HasPrefix(p.Message, "n-1: "+want.advice) {
			t.Errorf("%s: %+v", why, p)
		}
		if why != "" && why != agentapi.ConfigSettings && strings.Contains(p.Message, "spec.mariadb.config") {
			t.Errorf("%s blames the settings: %s", why, p.Message)
		}
	}
}

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
