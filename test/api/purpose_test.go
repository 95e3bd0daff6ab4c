package api

import (
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestUnlabelledObjectsAreAdopted: an object without a label of its purpose is adopted; it is ours by name and owner.
func TestUnlabelledObjectsAreAdopted(t *testing.T) {
	t.Parallel()
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
	for name, o := range map[string]client.Object{"shop-tls": &corev1.Secret{}, "shop-primary": &corev1.Service{},
		"shop-issued": &certmanagerv1.Certificate{}} {
		unmark(o, name)
		w.Eventually(func() map[string]string { must(t, w.get(o, name)); return o.GetLabels() }).
			Should(HaveKey(v1alpha1.LabelPurpose), name)
	}
	w.Expect(w.condition("Stalled")()).To(HavePrefix("False"))
}

// TestAnotherClustersSecrets: root's password of one cluster is not taken for that of another.
func TestAnotherClustersSecrets(t *testing.T) {
	must(t, kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "foreign-root"}}))
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "foreign-root", Name: "shop-root",
		Labels: map[string]string{v1alpha1.LabelCluster: "other"}},
		Data: map[string][]byte{"password": []byte("theirs")}}
	must(t, kube.Create(t.Context(), theirs))
	w := &world{WithT: NewWithT(t), t: t, agents: newFakeAgents()}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.cluster = &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "foreign-root", Name: "shop"},
		Spec: spec()}
	startOperator(t, "foreign-root", w.agents)
	must(t, kube.Create(t.Context(), w.cluster))
	w.Eventually(w.condition("Stalled")).Should(Equal("True NameConflict"))
	w.Expect(w.message("Stalled")).To(ContainSubstring(`Secret "shop-root" exists and does not belong to this cluster`))
	must(t, w.get(theirs, "shop-root"))
	w.Expect(theirs.Labels[v1alpha1.LabelCluster]).To(Equal("other"))
}

// TestClustersWhoseChildrenMeet: shop-primary is a cluster, and a Service of the cluster shop.
func TestClustersWhoseChildrenMeet(t *testing.T) {
	t.Parallel()
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
