package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A node that goes down", Label(Core, Faults), func() {
	It("joins incrementally after its pod was deleted", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(loseIncrementally(ctx, shop, w, pod)).To(Equal("IST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))

	It("hands the writer over when it is the primary", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(loseIncrementally(ctx, shop, w, primary)).To(Equal("IST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		Expect(shop.Primary(ctx)).NotTo(Equal(primary))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))

	It("comes back after mariadbd was killed with SIGKILL", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, primary)).To(Succeed())
		kind, err := shop.Joins().Wait(ctx, primary, killed, joinTime)
		Expect(err).NotTo(HaveOccurred())
		// None when it was quicker than the others, which wait before they go on without it.
		Expect(kind).To(Or(Equal("IST"), Equal("None")))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))

	It("joins without any operator", Serial, func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{Service: shop.Name})
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())

		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		old, err := shop.Pods().Delete(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Pods().WaitReplaced(ctx, pod, old, joinTime)).To(Succeed())
		Expect(shop.WaitSynced(ctx, joinTime)).To(Succeed())

		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		before, err := shop.Servers().Runs(ctx)
		Expect(err).NotTo(HaveOccurred())
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, primary)).To(Succeed())
		Eventually(shop.Servers().Runs).WithArguments(ctx).WithTimeout(joinTime).WithPolling(200*time.Millisecond).
			Should(HaveKeyWithValue(primary, Not(Equal(before[primary]))), "another server runs there")
		Expect(shop.WaitSynced(ctx, joinTime)).To(Succeed())

		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
		// only an operator knows: the status was well before it came
		_, err = shop.Joins().Wait(ctx, primary, killed, joinTime)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})
