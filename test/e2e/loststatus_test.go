package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// A restore of the resource without its status, or a person with kubectl, takes away what the operator has written
// down.
var _ = Describe("A cluster whose status is lost", Label(Slow, Faults), func() {
	It("gets it back from what its nodes report while they serve", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		runs, err := shop.Pods().Runs(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		Expect(harness.LoseStatus(ctx, shop)).To(Succeed())

		Eventually(func() int64 { return status(ctx, shop).Epoch }).WithContext(ctx).WithTimeout(recoverTime).
			Should(BeNumerically(">=", start.Unix()), "an epoch that none of the lost ones can have had")
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		expectHistory(ctx, shop, before.ClusterUUID)
		after, err := shop.Pods().Runs(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(Equal(runs), "the runs of the containers")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))

	It("recovers all that was committed when every mariadbd was killed meanwhile", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		bootstraps, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		By("losing the status and all servers while no operator looks")
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		crashed := time.Now()
		Expect(shop.Servers().Kill(ctx, podNames(ctx, shop)...)).To(Succeed())
		Expect(harness.LoseStatus(ctx, shop)).To(Succeed())
		Expect(status(ctx, shop)).To(Equal(v1alpha1.GaleraClusterStatus{}))
		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())

		expectRecovery(ctx, shop, w, crashed)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, crashed)
		Expect(status(ctx, shop).Epoch).To(BeNumerically(">=", start.Unix()))
		after, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after-bootstraps).To(Equal(1), "bootstraps for one crash")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})
