package e2e

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A power cut of all hosts", Label(Slow, Faults), func() {
	It("is survived, whatever the order in which the hosts come back", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Start(ctx, workers...)).To(Succeed()) },
			NodeTimeout(5*time.Minute))

		cut := time.Now()
		for _, node := range workers {
			Expect(kube.Hosts().Kill(ctx, node)).To(Succeed())
		}
		other := slices.Clone(workers)
		slices.Reverse(other)
		Expect(kube.Hosts().Start(ctx, other...)).To(Succeed())
		Expect(kube.Operator().Wait(ctx, recoverTime)).To(Succeed())
		expectRecovery(ctx, shop, w, cut)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, cut)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))

	It("of one host takes only that node away", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		host, err := shop.Pods().NodeOf(ctx, before.Primary)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Start(ctx, host)).To(Succeed()) },
			NodeTimeout(5*time.Minute))
		cut := time.Now()
		Expect(kube.Hosts().Kill(ctx, host)).To(Succeed())
		Expect(w.WaitForMore(ctx, 100, recoverTime)).To(Succeed(), "the others must serve on")
		Expect(kube.Hosts().Start(ctx, host)).To(Succeed())
		Expect(kube.Operator().Wait(ctx, recoverTime)).To(Succeed())
		expectRecovery(ctx, shop, w, cut)
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))
})
