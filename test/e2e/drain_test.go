package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A drain", Label(Core), func() {
	It("finds no primary: that has left its host when it was cordoned", Serial, func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		host, err := shop.Pods().NodeOf(ctx, primary)
		Expect(err).NotTo(HaveOccurred())
		before := runs(ctx, shop)
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Cordon(ctx, host, false)).To(Succeed()) })
		Expect(kube.Hosts().Cordon(ctx, host, true)).To(Succeed())
		var next string
		eventually(ctx, func(o Gomega) {
			next, err = shop.Primary(ctx)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(next).NotTo(Equal(primary))
			o.Expect(askService(ctx, client(ctx, shop), shop.Name+"-primary", "SELECT @@hostname")).To(Equal(next))
		})
		Expect(shop.Pods().NodeOf(ctx, next)).NotTo(Equal(host))
		Expect(kube.Hosts().Cordon(ctx, host, false)).To(Succeed())
		Consistently(func() (string, error) { return shop.Primary(ctx) }).WithTimeout(3*time.Second).Should(Equal(next),
			"it stays where it went")
		Expect(runs(ctx, shop)).To(Equal(before), "nothing was restarted")
	}, SpecTimeout(8*time.Minute))

	It("takes one node at a time", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		names := podNames(ctx, shop)
		since := time.Now()
		// the budget may be to be counted yet
		eventually(ctx, func(o Gomega) { o.Expect(shop.Pods().Evict(ctx, names[0])).To(Succeed()) })
		err := shop.Pods().Evict(ctx, names[1])
		Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), "a second eviction at the same time must be refused: %v", err)
		kind, err := shop.Joins().Wait(ctx, names[0], since, joinTime)
		Expect(err).NotTo(HaveOccurred())
		Expect(kind).NotTo(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})
