package e2e

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Two of three hosts", Label(Slow, Faults), func() {
	It("take the quorum with them: a person is asked, the plugin approves, and all return", func(ctx SpecContext) {
		shop := create(ctx, harness.Build(newNamespace(ctx, "hosts"), "shop", harness.Replicas(5)))
		Expect(shop.WaitReady(ctx, 2*firstReady)).To(Succeed())
		on := map[string][]string{}
		for _, p := range podsOf(ctx, shop) {
			on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p.Name)
		}
		Expect(on).To(HaveLen(3), "five nodes on three hosts")
		kept := ""
		for host, pods := range on {
			if len(pods) == 2 {
				kept = host
			}
		}
		Expect(kept).NotTo(BeEmpty(), "a host with two nodes: %v", on)
		moveOperator(ctx, kept)
		Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		lost := time.Now()
		for host := range on {
			if host != kept {
				pauseHost(ctx, host)
			}
		}
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionQuorumHealthy, metav1.ConditionFalse, "", shortly)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue,
			v1alpha1.ReasonWaitingForMembers, recoverTime)).To(Succeed())
		progress("Stalled %s after the hosts were lost", time.Since(lost).Round(time.Second))
		asked := askedApproval(ctx, shop)
		Expect(asked.Without).To(HaveLen(3))
		Expect(on[kept]).To(ContainElement(asked.Member))
		Expect(kubectlGalera(ctx, shop.Namespace, "recover", shop.Name)).To(ContainSubstring("kubectl patch"))

		approved := time.Now()
		kubectlGalera(ctx, shop.Namespace, "recover", shop.Name, "--approve", "--yes")
		Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed(), "two of five serve after the approval")
		first, _ := w.FirstWriteAfter(approved)
		progress("the first write %s after the approval", first.Sub(approved).Round(10*time.Millisecond))
		for _, node := range client(ctx, shop).NodeStates(ctx, on[kept]) {
			Expect(node.Err).NotTo(HaveOccurred())
			Expect(node.Component).To(Equal("Primary"), node.Pod)
			Expect(node.Uptime).To(BeNumerically(">", time.Since(start)), "%s was not restarted", node.Pod)
		}

		for host := range on {
			if host != kept {
				Expect(kube.Hosts().Pause(ctx, host, false)).To(Succeed())
			}
		}
		Expect(shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
		removeApproval(ctx, shop)
	}, SpecTimeout(18*time.Minute))
})

// pauseHost pauses a host until the spec ends, at the latest.
func pauseHost(ctx context.Context, host string) {
	GinkgoHelper()
	Expect(kube.Hosts().Pause(ctx, host, true)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { _ = kube.Hosts().Pause(ctx, host, false) }) // it may run again
}

// moveOperator brings all replicas of the operator to one host.
func moveOperator(ctx context.Context, host string) {
	GinkgoHelper()
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	others := slices.DeleteFunc(workers, func(w string) bool { return w == host })
	for _, other := range others {
		Expect(kube.Hosts().Cordon(ctx, other, true)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Cordon(ctx, other, false)).To(Succeed()) })
	}
	Expect(kube.Operator().Replace(ctx)).To(Succeed())
	operator, err := kube.Operator().Pod(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(operator.Spec.NodeName).To(Equal(host))
	for _, other := range others {
		Expect(kube.Hosts().Cordon(ctx, other, false)).To(Succeed())
	}
}
