package api

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const arbitratorProcess = "arbitrator.first"

// arbitrate does what the Deployment controller, kubelet and garbd do.
func (w *world) arbitrate(d *appsv1.Deployment) {
	w.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: d.Name + "-x", Labels: d.Spec.Template.Labels, Annotations: d.Spec.Template.Annotations,
	}}
	p.Spec.Containers = []corev1.Container{{Name: "garbd", Image: "x"}}
	must(w.t, kube.Create(context.Background(), p))
	p.Status.PodIP = "10.0.0.99"
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(w.t, kube.Status().Update(context.Background(), p))
	w.agents.change(d.Name, func(r *agentapi.Report) {
		r.Phase = galera.PhaseRunning
		r.Arbitration = &agentapi.Arbitration{Process: arbitratorProcess, Counted: true}
		r.Config.Loaded, r.Config.Socket = w.revision(), galera.SocketStrict
	})
}

// TestArbitrator: three nodes become two and an arbitrator, which is there before one goes, and gives
// back its place when there are three again.
func TestArbitrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "arbitrator", spec())
	w.bringUp()
	budget := &policyv1.PodDisruptionBudget{}
	w.Expect(w.get(budget, "shop")).To(Succeed())
	w.Expect(budget.Spec.Selector.MatchExpressions).To(HaveLen(1), "one budget for all who have a vote")

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Replicas, c.Spec.Arbitrator.Enabled = 2, true })
	d := &appsv1.Deployment{}
	w.Eventually(func() error { return w.get(d, "shop-arbitrator") }).Should(Succeed())
	w.Expect(*d.Spec.Replicas).To(BeEquivalentTo(1))
	w.Expect(w.get(&corev1.Service{}, "shop-arbitrator")).To(Succeed())
	w.views(3, func(*agentapi.Report) {})
	w.Consistently(w.agents.given, "1s").ShouldNot(ContainElement("Stop shop-2"),
		"no node leaves before the arbitrator is counted")

	w.arbitrate(d)
	w.views(3, func(r *agentapi.Report) {
		r.Server.Size, r.Server.Members = 4, []string{"shop-0", "shop-1", "shop-2", arbitratorProcess}
	})
	w.Eventually(w.agents.given).Should(ContainElement("Stop shop-2"))
	w.agents.change("shop-2", func(r *agentapi.Report) { r.Server, r.Phase = nil, galera.PhaseStopped })
	w.views(2, func(r *agentapi.Report) {
		r.Server.Size, r.Server.Members = 3, []string{"shop-0", "shop-1", arbitratorProcess}
	})
	w.Eventually(w.pods).Should(BeEquivalentTo(2))
	w.views(2, func(r *agentapi.Report) {
		r.Server.Size, r.Server.Members = 3, []string{"shop-0", "shop-1", arbitratorProcess}
	})
	w.agents.change("shop-arbitrator", func(r *agentapi.Report) { r.Config.Loaded = w.revision() })
	w.Eventually(func() *v1alpha1.ArbitratorStatus { return w.status().Arbitrator }).Should(HaveField("Connected", true))

	w.agents.change("shop-arbitrator", func(r *agentapi.Report) { r.Config.RestartNeeded = true })
	w.Eventually(w.agents.given).Should(ContainElement("Restart shop-arbitrator"), "all nodes serve")

	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.Replicas, c.Spec.Arbitrator.Enabled = 3, false })
	w.Eventually(w.pods).Should(BeEquivalentTo(3))
	w.Consistently(func() error { return w.get(d, "shop-arbitrator") }, "1s").Should(Succeed(),
		"it stays until the third node serves")
	w.agents.change("shop-2", serve)
	w.views(3, func(r *agentapi.Report) {
		r.Order = nil
		r.Server.Size, r.Server.Members = 4, []string{"shop-0", "shop-1", "shop-2", arbitratorProcess}
	})
	w.Eventually(func() bool { return apierrors.IsNotFound(w.get(d, "shop-arbitrator")) || d.DeletionTimestamp != nil }).
		Should(BeTrue())
	w.Eventually(func() bool { return apierrors.IsNotFound(w.get(&corev1.Service{}, "shop-arbitrator")) }).Should(BeTrue())
}
