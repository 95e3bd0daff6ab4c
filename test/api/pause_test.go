package api

import (
	"context"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestPause: the operator looks on, and acts as soon as the annotation goes.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pause", spec())
	w.bringUp()
	w.Eventually(w.condition("Available")).Should(Equal("True Available"))
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"} })
	w.Eventually(w.condition("Paused")).Should(Equal("True Paused"))
	w.Expect(w.condition("Ready")()).To(Equal("True Ready"))
	observed := w.status().ObservedGeneration

	// The spec is not acted upon, and what is deleted is not made again.
	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity("7m")}
	})
	w.Eventually(w.condition("Stalled")).Should(Equal("True Paused"))
	service := &corev1.Service{}
	w.Expect(w.get(service, "shop")).To(Succeed())
	must(t, kube.Delete(context.Background(), service))
	// The primary's role does not move, and no node is started.
	orders, primary := len(w.agents.given()), w.status().Primary
	for _, p := range []string{"shop-0", "shop-1", "shop-2"} {
		w.agents.change(p, func(r *agentapi.Report) { r.Server, r.Phase = nil, galera.PhaseWaiting })
	}
	w.Eventually(w.condition("Available")).Should(HavePrefix("False"))
	w.Eventually(func() string { return w.message("Stalled") }).Should(And(
		HavePrefix("Not done because the cluster is paused: "),
		ContainSubstring("remove the annotation galera-operator.io/pause")))
	w.Expect(w.status().RequiredActions).To(ConsistOf(HaveField("Command", ContainSubstring("galera-operator.io/pause-"))))
	w.Consistently(func(g Gomega) {
		sts := &appsv1.StatefulSet{}
		g.Expect(w.get(sts, "shop")).To(Succeed())
		g.Expect(sts.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu().String()).NotTo(Equal("7m"))
		g.Expect(w.get(&corev1.Service{}, "shop")).NotTo(Succeed())
		g.Expect(w.agents.given()).To(HaveLen(orders))
		s := w.status()
		g.Expect(s.Operation).To(BeNil())
		g.Expect(s.Primary).To(Equal(primary))
		g.Expect(s.ObservedGeneration).To(Equal(observed))
	}, 2*time.Second).Should(Succeed())

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = map[string]string{v1alpha1.AnnotationPause: "no"} })
	w.Eventually(w.condition("Paused")).Should(Equal("False NotPaused"))
	w.Eventually(func() error { return w.get(&corev1.Service{}, "shop") }).Should(Succeed())
	w.Eventually(w.agents.bootstraps).Should(HaveLen(2), "it recovers")
	w.Eventually(func() int64 { return w.status().ObservedGeneration }).Should(BeNumerically(">", observed))
}

// TestCreatedPaused: nothing is made for a cluster that is paused from the beginning.
func TestCreatedPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "created-paused", spec(), func(c *v1alpha1.GaleraCluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
	})
	w.Eventually(w.condition("Stalled")).Should(Equal("True Paused"))
	w.Expect(w.status().ObservedGeneration).To(BeEquivalentTo(-1))
	w.Consistently(func(g Gomega) {
		g.Expect(w.get(&appsv1.StatefulSet{}, "shop")).NotTo(Succeed())
		g.Expect(w.get(&corev1.Secret{}, "shop-root")).NotTo(Succeed())
		g.Expect(w.get(&certmanagerv1.Certificate{}, "shop-issued")).NotTo(Succeed())
	}, time.Second).Should(Succeed())
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = nil })
	w.bringUp()
}
