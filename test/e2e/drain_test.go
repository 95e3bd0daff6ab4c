package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A drain", Label(Core), func() {
	It("takes one node at a time", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		names := podNames(ctx, shop)
		since := time.Now()
		eventually(ctx, func(o Gomega) { o.Expect(shop.Evict(ctx, names[0])).To(Succeed()) }) // the budget may be to be counted yet
		err := shop.Evict(ctx, names[1])
		Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "a second eviction at the same time must be refused: %v", err)
		kind, err := shop.WaitJoined(ctx, names[0], since, joinTime)
		Expect(err).NotTo(HaveOccurred())
		Expect(kind).NotTo(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})
