package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const noSocatImage = "galera-test-no-socat:1"

var _ = Describe("A full state transfer", Label(Slow, Faults), func() {
	It("whose network is cut on the way ends well when it is healed, and the others serve meanwhile",
		func(ctx SpecContext) {
			shop := slowTransfers(ctx)
			before := status(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			t := beginCopy(ctx, shop)
			DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
			Expect(kube.Network().Partition(ctx, shop, []string{t.joiner}, t.others)).To(Succeed())
			Expect(shop.Transfers().Gives(ctx, t.donor)).To(BeTrue(), "the network is to be cut in the middle")
			Expect(w.WaitForMore(ctx, 200, noticeTime)).To(Succeed(), "the majority must serve")
			Consistently(func() bool { return client(ctx, shop).NodeState(ctx, t.joiner).Synced(3) }).
				WithContext(ctx).WithTimeout(noticeTime).WithPolling(time.Second).Should(BeFalse(), "half a copy must not serve")
			healed := time.Now()
			Expect(kube.Network().Heal(ctx)).To(Succeed())

			// The copy goes on, and does not count in the end: another one follows.
			Expect(shop.Joins().Wait(ctx, t.joiner, t.lost, 2*recoverTime)).To(Equal("SST"))
			expectRecovery(ctx, shop, w, healed)
			expectHistory(ctx, shop, before.ClusterUUID)
			expectJoins(ctx, shop, t.lost, HaveKeyWithValue(t.joiner, "SST"))
			t.expectUndisturbed(ctx, w)
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(12*time.Minute))

	It("whose backup breaks off at the donor is begun again by another one, and the reason is reported",
		func(ctx SpecContext) {
			shop := slowTransfers(ctx)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			t := beginCopy(ctx, shop)
			By("killing the backup: the donor's server goes on")
			Expect(shop.Transfers().KillBackup(ctx, t.donor)).To(Succeed())

			t.awaitReason(ctx, v1alpha1.ReasonTransferFailed, And(
				ContainSubstring("SST from "+t.donor+" failed"), MatchRegexp(`exit code \d+|signal \d+`),
				ContainSubstring("The node tries again, with another donor if there is one")), shortly)
			t.expectQuorum(ctx, w)
			t.expectRetries(ctx, recoverTime)
			m, err := shop.Member(ctx, t.joiner)
			Expect(err).NotTo(HaveOccurred())
			Expect(m.Join.Donor).NotTo(Equal(t.donor), "the donor of the attempt that failed is asked last")
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
			t.expectUndisturbed(ctx, w)
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(12*time.Minute))

	It("that is broken off with its pod leaves half a copy, which is not taken for data, whatever it looks like",
		func(ctx SpecContext) {
			shop := slowTransfers(ctx)
			before := status(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			t := beginCopy(ctx, shop)
			var gone time.Time
			Expect(shop.Volumes().Offline(ctx, t.joiner, func(v harness.Volume) error {
				Expect(v.Has(ctx, "agent/joining.json")).To(BeTrue(), "the note that is kept outside of the directory")
				gone = time.Now()
				return v.Disguise(ctx, before.ClusterUUID)
			})).To(Succeed())

			Expect(shop.Joins().Wait(ctx, t.joiner, gone, recoverTime)).To(Equal("SST"))
			attempts, err := shop.Joins().Attempts(ctx, t.joiner, gone)
			Expect(err).NotTo(HaveOccurred())
			Expect(attempts).NotTo(BeEmpty())
			Expect(attempts[0].Data).To(Equal("Incomplete"))
			v, err := shop.Volumes().Of(ctx, t.joiner)
			Expect(err).NotTo(HaveOccurred())
			for _, trace := range []string{"data/.sst", "agent/joining.json"} {
				Eventually(v.Has).WithContext(ctx).WithArguments(trace).WithTimeout(shortly).Should(BeFalse(),
					"%s is left of the transfer", trace)
			}
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
			expectHistory(ctx, shop, before.ClusterUUID)
			t.expectUndisturbed(ctx, w)
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(12*time.Minute))

	It("for which the image lacks a program is not tried; the reason reports which, and another image fixes it",
		func(ctx SpecContext) {
			makeNoSocatImage(ctx)
			c := create(ctx, harness.Build(newNamespace(ctx, "nosocat"), "shop", harness.Image(noSocatImage)))
			expectStalled(ctx, c, v1alpha1.ReasonTransferToolsMissing, "socat",
				"use another image, or change spec.stateTransfer")
			setImage(ctx, c, "")
			Expect(c.WaitReady(ctx, upgradeTime)).To(Succeed())
		}, SpecTimeout(8*time.Minute))

	It("from the only node there is, whose image lacks a program, is made with another image", func(ctx SpecContext) {
		makeNoSocatImage(ctx)
		c := create(ctx, harness.Build(newNamespace(ctx, "onlynode"), "shop", harness.Replicas(1),
			harness.Image(noSocatImage)))
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTransferToolsMissing,
			recoverTime)).To(Succeed())
		w, start := startWriter(ctx, c, harness.WriterOptions{Connections: 2}), time.Now()
		Expect(c.Scale(ctx, 3)).To(Succeed())
		Expect(w.WaitForMore(ctx, 50, shortly)).To(Succeed(), "the only node goes on serving")
		setImage(ctx, c, "")
		Expect(c.WaitHealthy(ctx, upgradeTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})

// makeNoSocatImage puts an image on the hosts that has all but socat.
func makeNoSocatImage(ctx context.Context) {
	GinkgoHelper()
	image, err := kube.Operator().DefaultImage(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(harness.LoadVariant(ctx, noSocatImage, image, "USER root",
		"RUN find / -xdev -name socat* -type f -delete; find / -xdev -name socat -delete")).To(Succeed())
}
