package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const noSocatImage = "galera-test-no-socat:1"

var _ = Describe("A full state transfer", Label(Slow, Faults), func() {
	It("whose network is cut on the way ends well when it is healed, and the others serve meanwhile", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		Expect(shop.Grow(ctx, 384)).To(Succeed(), "making the transfer take a while")
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		joiner, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		lost := time.Now()
		Expect(shop.DeleteClaim(ctx, joiner)).To(Succeed())
		_, err = shop.DeletePod(ctx, joiner)
		Expect(err).NotTo(HaveOccurred())
		_, err = shop.WaitTransfer(ctx, joiner, joinTime)
		Expect(err).NotTo(HaveOccurred())

		DeferCleanup(func(ctx SpecContext) { Expect(kube.Heal(ctx)).To(Succeed()) })
		var others []string
		for _, n := range podNames(ctx, shop) {
			if n != joiner {
				others = append(others, n)
			}
		}
		Expect(shop.Partition(ctx, []string{joiner}, others)).To(Succeed())
		Expect(w.WaitForMore(ctx, 200, noticeTime)).To(Succeed(), "the majority must serve")
		Consistently(func() bool { return client(ctx, shop).NodeState(ctx, joiner).Synced(3) }).
			WithContext(ctx).WithTimeout(noticeTime).WithPolling(time.Second).Should(BeFalse(), "half a copy must not serve")
		healed := time.Now()
		Expect(kube.Heal(ctx)).To(Succeed())

		expectRecovery(ctx, shop, w, healed)
		expectHistory(ctx, shop, before.ClusterUUID)
		joins, err := shop.Joins(ctx, lost)
		Expect(err).NotTo(HaveOccurred())
		Expect(joins).To(HaveKeyWithValue(joiner, "SST"))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))

	It("for which the image lacks a program is not tried; the reason says which, and another image mends it", func(ctx SpecContext) {
		image, err := kube.DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.LoadVariant(ctx, noSocatImage, image, "USER root", "RUN find / -xdev -name socat* -type f -delete; find / -xdev -name socat -delete")).To(Succeed())
		c := create(ctx, harness.Build(newNamespace(ctx, "nosocat"), "shop", harness.Image(noSocatImage)))
		expectStalled(ctx, c, v1alpha1.ReasonTransferToolsMissing, "socat", "use another image, or change spec.stateTransfer")
		setImage(ctx, c, "")
		Expect(c.WaitReady(ctx, upgradeTime)).To(Succeed())
	}, SpecTimeout(8*time.Minute))
})
