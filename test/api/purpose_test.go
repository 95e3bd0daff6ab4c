package api

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// issueClient does cert-manager's part for a client's certificate, when it is asked for one.
func (w *world) issueClient(name string) {
	w.t.Helper()
	issued := resources.ClientIssuedName(w.cluster, name)
	w.Eventually(w.there(child{&certmanagerv1.Certificate{}, issued})).Should(BeTrue())
	ca := pkitest.NewCA("clients")
	crt, key := ca.Issue(pkitest.Leaf{})
	must(w.t, kube.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.cluster.Namespace, Name: issued, Labels: resources.Labels(w.cluster)},
		Data:       map[string][]byte{"tls.crt": crt, "tls.key": key, "ca.crt": ca.PEM},
	}))
}

func clientNamed(name, secret string) v1alpha1.ClientCertificateSpec {
	return v1alpha1.ClientCertificateSpec{Name: name, CommonName: name, SecretName: secret}
}

// withoutRules lets something be stored as before the API had rules for Secrets' names.
func withoutRules(t *testing.T, do func()) {
	t.Helper()
	ctx := context.Background()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	key := client.ObjectKey{Name: "galeraclusters.galera-operator.io"}
	must(t, kube.Get(ctx, key, crd))
	rules := crd.DeepCopy()
	forgetRules(crd.Object["spec"])
	must(t, kube.Update(ctx, crd))
	defer func() {
		must(t, kube.Get(ctx, key, crd))
		crd.Object["spec"] = rules.Object["spec"]
		must(t, kube.Update(ctx, crd))
		refused := fromYAML(t, "valid", `{storage: {size: 1Gi}, tls: {clientCertificates: [{name: app, commonName: a, secretName: valid-tls}]}}`)
		NewWithT(t).Eventually(func() error { return kube.Create(ctx, refused.DeepCopy(), client.DryRunAll) }).WithTimeout(20 * time.Second).ShouldNot(Succeed())
	}()
	do()
}

func forgetRules(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			forgetRules(e)
		}
	case map[string]any:
		if rules, ok := v["x-kubernetes-validations"].([]any); ok {
			v["x-kubernetes-validations"] = slices.DeleteFunc(rules, func(r any) bool {
				return strings.Contains(r.(map[string]any)["rule"].(string), "secretName")
			})
		}
		for _, e := range v {
			forgetRules(e)
		}
	}
}

// TestOneSecretForOnePurpose: a spec that was stored before the API refused it does no harm: the nodes' pair stays
// theirs, of two clients one gets the Secret, and the condition tells. Nothing is written without end.
func TestOneSecretForOnePurpose(t *testing.T) {
	w := newWorld(t, "purpose", spec())
	w.bringUp()
	nodes := &corev1.Secret{}
	must(t, w.get(nodes, "shop-tls"))
	before := nodes.Data["tls.crt"]
	w.Expect(nodes.Labels).To(HaveKeyWithValue(v1alpha1.LabelPurpose, "tls"))
	withoutRules(t, func() {
		w.Eventually(func() error {
			c := &v1alpha1.GaleraCluster{}
			must(t, w.get(c, "shop"))
			c.Spec.TLS.ClientCertificates = []v1alpha1.ClientCertificateSpec{clientNamed("evil", "shop-tls"), clientNamed("one", "both"), clientNamed("two", "both")}
			return kube.Update(t.Context(), c)
		}).Should(Succeed())
	})
	for _, name := range []string{"evil", "one", "two"} {
		w.issueClient(name)
	}
	w.Eventually(w.condition("Stalled")).Should(Equal("True NameConflict"), "the status can be written, too")
	both := &corev1.Secret{}
	w.Eventually(func() error { return w.get(both, "both") }).Should(Succeed())
	first := both.Labels[v1alpha1.LabelPurpose]
	w.Expect(first).To(HavePrefix("client-"))
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = map[string]string{"look": "again"} })
	version := both.ResourceVersion
	w.Consistently(func() string { must(t, w.get(both, "both")); return both.ResourceVersion }, 2*time.Second).Should(Equal(version))
	must(t, w.get(nodes, "shop-tls"))
	w.Expect(nodes.Data["tls.crt"]).To(Equal(before), "the nodes' pair")

	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.TLS.ClientCertificates = []v1alpha1.ClientCertificateSpec{clientNamed("one", "both"), clientNamed("two", "another")}
	})
	w.Eventually(func() error { return w.get(&corev1.Secret{}, "another") }).Should(Succeed())
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
}

// TestUnmarkedIsTakenOver: what an earlier operator made tells no purpose; it is ours by name and owner.
func TestUnmarkedIsTakenOver(t *testing.T) {
	w := newWorld(t, "unmarked", spec())
	w.bringUp()
	unmark := func(o client.Object, name string) {
		must(t, w.get(o, name))
		changed := o.DeepCopyObject().(client.Object)
		labels := changed.GetLabels()
		delete(labels, v1alpha1.LabelPurpose)
		changed.SetLabels(labels)
		must(t, kube.Patch(t.Context(), changed, client.MergeFrom(o)))
	}
	for name, o := range map[string]client.Object{"shop-tls": &corev1.Secret{}, "shop-primary": &corev1.Service{}, "shop-issued": &certmanagerv1.Certificate{}} {
		unmark(o, name)
		w.Eventually(func() map[string]string { must(t, w.get(o, name)); return o.GetLabels() }).Should(HaveKey(v1alpha1.LabelPurpose), name)
	}
	w.Expect(w.condition("Stalled")()).To(HavePrefix("False"))
}

// TestAnotherClustersSecrets: root's password of one cluster is not taken for that of another.
func TestAnotherClustersSecrets(t *testing.T) {
	must(t, kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "foreign-root"}}))
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "foreign-root", Name: "shop-root", Labels: map[string]string{v1alpha1.LabelCluster: "other"}},
		Data: map[string][]byte{"password": []byte("theirs")}}
	must(t, kube.Create(t.Context(), theirs))
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents()}
	w.SetDefaultEventuallyTimeout(20 * time.Second)
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "foreign-root", Name: "shop"}, Spec: spec()}
	startOperator(t, "foreign-root", w.agents)
	must(t, kube.Create(t.Context(), w.cluster))
	w.Eventually(w.condition("Stalled")).Should(Equal("True NameConflict"))
	w.Expect(w.message("Stalled")).To(ContainSubstring(apply.ErrNameTaken{Kind: "Secret", Name: "shop-root"}.Error()))
	must(t, w.get(theirs, "shop-root"))
	w.Expect(theirs.Labels[v1alpha1.LabelCluster]).To(Equal("other"))
}

// TestClustersWhoseChildrenMeet: shop-primary is a cluster, and a Service of the cluster shop.
func TestClustersWhoseChildrenMeet(t *testing.T) {
	w := newWorld(t, "meet", spec())
	w.Eventually(func() error { return w.get(&corev1.Service{}, "shop-primary") }).Should(Succeed())
	other := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "meet", Name: "shop-primary"}, Spec: spec()}
	must(t, kube.Create(t.Context(), other))
	w.Eventually(func() string {
		must(t, w.get(other, "shop-primary"))
		for _, c := range other.Status.Conditions {
			if c.Type == "Stalled" {
				return string(c.Status) + " " + c.Reason
			}
		}
		return ""
	}).Should(Equal("True NameConflict"))
	service := &corev1.Service{}
	must(t, w.get(service, "shop-primary"))
	w.Expect(service.Labels[v1alpha1.LabelCluster]).To(Equal("shop"), "no takeover")
	w.Consistently(w.condition("Stalled"), time.Second).Should(HavePrefix("False"))
}
