package e2e

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A switch of encryption that one node makes impossible", Label(Slow, Faults), func() {
	It("is tried twice, then a person is asked, whichever operator is there, and goes on with another pod",
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			silent, err := shop.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			resume := func(ctx context.Context) { _ = shop.Agents().Signal(ctx, silent, syscall.SIGCONT) } // it may be gone
			DeferCleanup(func(ctx SpecContext) { resume(ctx) })

			setReplication(ctx, shop, v1alpha1.TLSDisabled, v1alpha1.SwitchRebootstrap)
			for attempt := int32(1); attempt <= 2; attempt++ {
				Eventually(func() string {
					if op := status(ctx, shop).Operation; op != nil {
						return op.Type + " " + op.Step
					}
					return ""
				}).WithContext(ctx).WithTimeout(switchTime).WithPolling(20 * time.Millisecond).
					Should(HavePrefix("SwitchTLS Rebootstrap"))
				Expect(shop.Agents().Signal(ctx, silent, syscall.SIGSTOP)).To(Succeed())
				Eventually(func() *v1alpha1.AbandonedOperation { return status(ctx, shop).Abandoned }).
					WithContext(ctx).WithTimeout(recoverTime).WithPolling(200 * time.Millisecond).
					Should(HaveValue(And(HaveField("Node", silent), HaveField("Attempts", attempt))))
				resume(ctx)
				// The next operator has nothing but the status.
				Expect(kube.Operator().Replace(ctx)).To(Succeed())
			}
			Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSwitchRefused,
				switchTime)).To(Succeed())
			stalled, err := shop.Condition(ctx, v1alpha1.ConditionStalled)
			Expect(err).NotTo(HaveOccurred())
			Expect(stalled.Message).To(ContainSubstring(silent))
			Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed(), "the cluster serves with the old encryption")

			deletePodAndWait(ctx, shop, silent)
			Eventually(func() string { return status(ctx, shop).TLS.Replication }).WithContext(ctx).WithTimeout(switchTime).
				WithPolling(200 * time.Millisecond).Should(Equal("Plain"))
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
			switchReplication(ctx, shop, v1alpha1.TLSRequired, v1alpha1.SwitchRolling)
			Expect(status(ctx, shop).Abandoned).To(BeNil(), "a switch has ended well")
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(14*time.Minute))
})
