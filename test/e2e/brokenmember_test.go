package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// A member that cannot find out where its data stand can start nothing. That must not keep it from being stopped, or
// removed.
var _ = Describe("A member whose data cannot be read", Label(Slow, Faults), func() {
	It("is removed by scaling down", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "broken")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		breakMember(ctx, shop, "shop-2")
		scale(ctx, shop, 1)
		Expect(podNames(ctx, shop)).To(ConsistOf("shop-0"))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))

	It("does not keep the cluster from being hibernated", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "broken")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		breakMember(ctx, shop, "shop-2")
		hibernate(ctx, shop)
	}, SpecTimeout(12*time.Minute))
})

// breakMember damages the data of a member and waits until that is reported.
func breakMember(ctx context.Context, c *harness.Cluster, pod string) {
	GinkgoHelper()
	Expect(c.Volumes().Offline(ctx, pod, func(v harness.Volume) error { return v.Break(ctx) })).To(Succeed())
	awaitMessage(ctx, c, pod, "wsrep-recover", recoverTime)
}
