package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A lost host", Label(Slow, Faults), func() {
	DescribeTable("that carried the primary and the operator moves both", func(ctx SpecContext, standby bool) {
		shop := sharedCluster(ctx)
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		if len(workers) < 3 {
			Skip("needs three hosts")
		}
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		host, err := shop.Pods().NodeOf(ctx, primary)
		Expect(err).NotTo(HaveOccurred())
		By("moving the operator to " + host)
		moveOperator(ctx, host)
		if standby {
			By("moving the replica that waits to another host")
			Expect(kube.Operator().DeleteStandby(ctx)).To(Succeed())
			Expect(kube.Operator().Wait(ctx, shortly)).To(Succeed())
		}
		Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())

		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Start(ctx, host)).To(Succeed()) },
			NodeTimeout(5*time.Minute))
		killed := time.Now()
		Expect(kube.Hosts().Kill(ctx, host)).To(Succeed())
		Expect(kube.Until(ctx, "another primary", recoverTime, func(ctx context.Context) (bool, string, error) {
			now, err := shop.Primary(ctx)
			return err == nil && now != primary, now, err
		})).To(Succeed())
		Expect(w.WaitForMore(ctx, 50, recoverTime)).To(Succeed(), "the writer goes on elsewhere")
		first, _ := w.FirstWriteAfter(killed.Add(time.Second))
		progress("the first write after %s", first.Sub(killed).Round(time.Second))

		Expect(kube.Hosts().Start(ctx, host)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	},
		Entry("while the other replica waits elsewhere", SpecTimeout(12*time.Minute), true),
		Entry("with both replicas on it", SpecTimeout(12*time.Minute), false))
})
