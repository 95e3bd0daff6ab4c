package api

import (
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// child is an object that a spec asks for, and another takes away.
type child struct {
	of   client.Object
	name string
}

func (w *world) there(children ...child) func() bool {
	return func() bool {
		for _, c := range children {
			if w.get(c.of, c.name) != nil {
				return false
			}
		}
		return true
	}
}

func (w *world) gone(children ...child) func() bool {
	return func() bool {
		for _, c := range children {
			if !apierrors.IsNotFound(w.get(c.of, c.name)) {
				return false
			}
		}
		return true
	}
}

// TestObjectsRemovedFromTheSpecAreDeleted goes, and comes again; what holds trust stays.
func TestObjectsRemovedFromTheSpecAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "taken-away", spec())
	policy := child{&networkingv1.NetworkPolicy{}, "shop"}
	signer := child{&certmanagerv1.Issuer{}, "shop-ca"}
	clientSigner := child{&certmanagerv1.Issuer{}, "shop-client-ca"}
	stays := []child{{&certmanagerv1.Certificate{}, "shop-ca-pair"}, {&corev1.Secret{}, "shop-root"},
		{&corev1.Secret{}, "shop-tls"}, {&certmanagerv1.Certificate{}, "shop-issued"}}
	w.bringUp()
	w.Eventually(w.there(append(stays, policy, signer)...)).Should(BeTrue())

	off := false
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.NetworkPolicy.Enabled = &off })
	w.Eventually(w.gone(policy)).Should(BeTrue(), "the policy")
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.NetworkPolicy.Enabled = nil })
	w.Eventually(w.there(policy)).Should(BeTrue(), "the policy again")

	user := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: "app"},
		Spec: v1alpha1.GaleraUserSpec{ClusterRef: v1alpha1.ClusterReference{Name: "shop"}, Require: v1alpha1.RequireX509}}
	must(t, kube.Create(t.Context(), user))
	w.Eventually(w.there(clientSigner, child{&certmanagerv1.Certificate{}, "shop-client-ca-pair"})).Should(BeTrue(),
		"the clients' CA")
	must(t, kube.Delete(t.Context(), user))
	w.Eventually(w.gone(clientSigner)).Should(BeTrue(), "the right to sign for clients")
	w.Expect(w.there(child{&certmanagerv1.Certificate{}, "shop-client-ca-pair"})()).To(BeTrue(), "the CA's key is kept")

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "corporate"} })
	w.Eventually(w.gone(signer)).Should(BeTrue(), "the right to sign")
	w.Consistently(w.there(stays...), time.Second).Should(BeTrue())
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.TLS.IssuerRef = nil })
	w.Eventually(w.there(signer)).Should(BeTrue())
}

// TestForeignObjectsStay: what has the name, and even the label, but is not the cluster's.
func TestForeignObjectsStay(t *testing.T) {
	t.Parallel()
	off := false
	s := spec()
	s.NetworkPolicy.Enabled = &off
	s.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "corporate"}
	meta := func(name string, labelled bool) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: "strangers", Name: name}
		if labelled {
			m.Labels = map[string]string{v1alpha1.LabelCluster: "shop", v1alpha1.LabelPurpose: "client-app"}
		}
		return m
	}
	w := newWorld(t, "strangers", s)
	theirs := []child{
		{&networkingv1.NetworkPolicy{ObjectMeta: meta("shop", true)}, "shop"},
		{&certmanagerv1.Issuer{ObjectMeta: meta("shop-ca", true)}, "shop-ca"},
		{&certmanagerv1.Certificate{ObjectMeta: meta("shop-client-app-issued", true),
			Spec: certmanagerv1.CertificateSpec{SecretName: "x"}}, "shop-client-app-issued"},
		{&corev1.Secret{ObjectMeta: meta("shop-client-app-issued", true)}, "shop-client-app-issued"},
		{&corev1.Secret{ObjectMeta: meta("shop-client-app", true)}, "shop-client-app"},
		{&corev1.Secret{ObjectMeta: meta("shop-client-web", false)}, "shop-client-web"},
		{&corev1.Service{ObjectMeta: meta("shop-arbitrator", true),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, "shop-arbitrator"},
	}
	for _, c := range theirs {
		must(t, kube.Create(t.Context(), c.of))
	}
	w.Eventually(w.there(child{&corev1.ConfigMap{}, "shop-config"})).Should(BeTrue())
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = map[string]string{"look": "again"} })
	w.Consistently(w.there(theirs...), 2*time.Second).Should(BeTrue())
}
