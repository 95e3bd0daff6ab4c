package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// mostKills bounds the test: kubelet makes the pauses between restarts of one container longer and longer.
const mostKills = 4

var _ = Describe("An operator that is killed", Label(Slow, Faults), func() {
	It("at every journalled step of a recovery changes nothing in the end", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		bootstraps, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		crashed := time.Now()
		Expect(shop.Servers().Kill(ctx, podNames(ctx, shop)...)).To(Succeed())

		steps := map[string]bool{journal(before): true}
		Eventually(func(g Gomega) {
			s := status(ctx, shop)
			if step := journal(s); !steps[step] && len(steps) <= mostKills {
				steps[step] = true
				progress("killing the operator at: %s", step)
				g.Expect(kube.Operator().Kill(ctx)).To(Succeed())
			}
			g.Expect(s.LastOperation).NotTo(BeNil())
			g.Expect(s.LastOperation.Epoch).To(BeNumerically(">", before.Epoch), "the recovery is complete")
		}).WithContext(ctx).WithTimeout(5 * time.Minute).WithPolling(50 * time.Millisecond).Should(Succeed())
		Expect(len(steps)).To(BeNumerically(">", 2), "the operator was killed in between: %v", steps)

		Expect(kube.Operator().Wait(ctx, recoverTime)).To(Succeed())
		expectRecovery(ctx, shop, w, crashed)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, crashed)
		after, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after-bootstraps).To(Equal(1), "bootstraps for one crash")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})

// journal is the operator's state as it is written down, and what the chosen node does about it.
func journal(s v1alpha1.GaleraClusterStatus) string {
	if s.Operation == nil {
		return fmt.Sprintf("no operation after epoch %d", s.Epoch)
	}
	out := fmt.Sprintf("%s %s on %s", s.Operation.ID, s.Operation.Step, s.Operation.BootstrapMember)
	for _, m := range s.Members {
		if m.Name == s.Operation.BootstrapMember {
			out += ", which is " + m.Phase + " " + m.ComponentState
		}
	}
	return out
}
