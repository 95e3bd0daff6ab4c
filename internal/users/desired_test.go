package users

import (
	"testing"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestIssuerIsTheClientsCA: an account with require: X509 asks for the issuer that the clients' CA names itself by,
// whatever issuer the nodes have, and the agent takes both.
func TestIssuerIsTheClientsCA(t *testing.T) {
	for _, name := range []string{"shop", "a-cluster-with-a-name-of-forty-characters"} {
		c := &v1alpha1.GaleraCluster{}
		c.Name, c.Namespace = name, "a-namespace-with-a-long-name"
		u := &v1alpha1.GaleraUser{}
		u.Name, u.Namespace, u.UID, u.Spec.Host = "app", c.Namespace, "1", "%"
		u.Spec.ClusterRef.Name, u.Spec.Require = name, v1alpha1.RequireX509
		w, err := User(c, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		signed := false
		for _, o := range resources.Certificates(c, resources.Options{}, true) {
			if ca, is := o.(*cmv1.Certificate); is && ca.Name == resources.ClientCAPairName(c) {
				signed = w.Issuer == "/CN="+ca.Spec.CommonName && ca.Spec.Subject == nil
			}
		}
		if !signed || w.Subject == "" || w.Check() != nil {
			t.Errorf("%s: the account asks for %q by %q: %v", name, w.Subject, w.Issuer, w.Check())
		}
		without := w
		without.Issuer = ""
		if without.Check() == nil {
			t.Errorf("%s: a certificate of any issuer is taken", name)
		}
	}
}
