package api

import (
	"context"
	"slices"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestTheCertificateOfAProxyFollowsTheCA: another one is requested when the nodes present one of the new CA, and not
// before: clients have had their time to read it by then.
func TestTheCertificateOfAProxyFollowsTheCA(t *testing.T) {
	t.Parallel()
	ctx, namespace := context.Background(), "proxyca"
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	p := newProxies(t, namespace)
	must(t, kube.Create(ctx, aProxy(t, namespace, "pool", "{clusterRef: {name: shop}, replicas: 1}")))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}, Spec: spec()}
	must(t, kube.Create(ctx, c))
	old, next := pkitest.NewCA("old"), pkitest.NewCA("next")
	both := slices.Concat(old.PEM, next.PEM)
	must(t, kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
		Name: resources.CAConfigMapName(c)}, Data: map[string]string{resources.CAKey: string(both)}}))
	leaf := func(ca pkitest.CA, ago time.Duration) (crt, key []byte) {
		return ca.Issue(pkitest.Leaf{NotBefore: time.Now().Add(-ago)})
	}
	secret := func(name string, crt, key []byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key, resources.CAKey: both}}
	}
	crt, key := leaf(old, 30*time.Minute)
	nodes := secret(resources.TLSSecretName(c), crt, key)
	crt, key = leaf(old, 20*time.Minute)
	own := secret("pool-proxy-issued", crt, key)
	own.Labels[v1alpha1.LabelProxy] = "pool"
	must(t, kube.Create(ctx, nodes))
	must(t, kube.Create(ctx, own))
	requested := func() bool {
		p.pass()
		cert := &certmanagerv1.Certificate{}
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "pool-proxy-issued"}, cert))
		return slices.ContainsFunc(cert.Status.Conditions, func(c certmanagerv1.CertificateCondition) bool {
			return c.Type == certmanagerv1.CertificateConditionIssuing && c.Status == "True"
		})
	}
	p.Expect(requested()).To(BeFalse(), "the nodes present a certificate of the old CA")
	crt, key = leaf(next, 10*time.Minute)
	nodes.Data[corev1.TLSCertKey], nodes.Data[corev1.TLSPrivateKeyKey] = crt, key
	must(t, kube.Update(ctx, nodes))
	p.Expect(requested()).To(BeTrue())
	p.Expect(requested()).To(BeTrue(), "it is requested once")
}
