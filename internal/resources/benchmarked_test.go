package resources

import (
	"testing"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestMeasuredClustersHaveAClientCA, with or without an issuer of the user's, and others have none.
func TestMeasuredClustersHaveAClientCA(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: "1"}}
	for name, tc := range map[string]struct {
		edit  func(*v1alpha1.GaleraCluster)
		users bool
		has   bool
	}{
		"no benchmark": {func(*v1alpha1.GaleraCluster) {}, false, false},
		"measured": {func(
			c *v1alpha1.GaleraCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: "x"}
		}, false, true},
		"private": {func(c *v1alpha1.GaleraCluster) {
			c.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(b,
				v1alpha1.GroupVersion.WithKind("GaleraBenchmark"))}
		}, false, true},
		"users": {func(*v1alpha1.GaleraCluster) {}, true, true},
	} {
		for _, issuer := range []*v1alpha1.IssuerReference{nil, {Name: "corporate"}} {
			c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "ns"}}
			c.Spec.TLS.IssuerRef = issuer
			tc.edit(c)
			var ca, signer, root bool
			for _, o := range Certificates(c, Options{}, tc.users) {
				i, isIssuer := o.(*cmv1.Issuer)
				ca = ca || o.GetName() == ClientCAPairName(c)
				signer = signer || isIssuer && i.Name == ClientIssuer(c).Name && i.Spec.CA.SecretName == ClientCAPairName(c)
				root = root || isIssuer && i.Spec.SelfSigned != nil
			}
			if ca != tc.has || signer != tc.has || tc.has && !root {
				t.Errorf("%s, issuer %v: CA %t, its issuer %t, its root %t", name, issuer, ca, signer, root)
			}
		}
	}
}
