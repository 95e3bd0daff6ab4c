package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// someCopy is more than what is reported before the data themselves, and far less than these.
	someCopy = 1 << 20
	// askTime is what a donor may take to begin; one that refuses says so sooner.
	askTime = time.Minute
)

var _ = Describe("A stranger on the port of full transfers", Label(Slow, Wire), func() {
	It("who pretends to be the donor is turned away, and the node joins all the same", func(ctx SpecContext) {
		shop := slowTransfers(ctx)
		foreign, err := shop.Certificates().Foreign(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		t := loseReplica(ctx, shop)
		intruder, err := harness.StartIntruder(ctx, shop, t.joiner, 6, &foreign, nil)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { intruder.Stop() })

		Expect(shop.Joins().Wait(ctx, t.joiner, t.lost, 2*recoverTime)).To(Equal("SST"))
		refusals, taken := intruder.Stop()
		progress("the intruder was refused %d times: %v", len(refusals), refusals)
		Expect(refusals).NotTo(BeEmpty(), "the intruder was never there in time")
		Expect(taken).To(BeEmpty(), "the joining node took something from a stranger")
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		t.expectUndisturbed(ctx, w)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(14*time.Minute))

	It("who asks for a copy gets none of it with a certificate of another CA", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		genuine, err := shop.Certificates().Genuine(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := shop.Certificates().Foreign(ctx)
		Expect(err).NotTo(HaveOccurred())
		donor, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		running := runs(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		By("showing " + donor + " a certificate of another CA")
		got, err := shop.Peers().AskForCopy(ctx, image, donor, foreign, someCopy, askTime)
		Expect(err).NotTo(HaveOccurred(), got.Output)
		progress("refused with %v", got.Refusals)
		Expect(got.Bytes).To(BeZero(), got.Output)
		Expect(got.Refusals).To(ContainElement(ContainSubstring("tls:")),
			"the donor is to have checked the certificate\n%s", got.Output)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed(), "the donor serves again")

		By("showing it the cluster's own: the test could fail")
		got, err = shop.Peers().AskForCopy(ctx, image, donor, genuine, someCopy, askTime)
		Expect(err).NotTo(HaveOccurred(), got.Output)
		Expect(got.Bytes).To(BeNumerically(">=", someCopy), "refused with %v\n%s", got.Refusals, got.Output)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		Expect(runs(ctx, shop)).To(Equal(running), "no node is restarted")
		Expect(w.LongestGap(start).Length).To(BeNumerically("<", undisturbedGap))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))
})

var _ = Describe("A node with a wrong certificate", Label(Slow, Faults), func() {
	// With replication in clear the node is let into the group, and it is the full transfer that finds out.
	It("gets no copy, explains why, tries less and less often, and joins once it has the right one",
		func(ctx SpecContext) {
			c := create(ctx, harness.Build(newNamespace(ctx, "wrong"), "wrong", func(s *v1alpha1.GaleraClusterSpec) {
				s.TLS.Replication, s.TLS.StateTransfer = v1alpha1.TLSDisabled, v1alpha1.TLSRequired
			}))
			Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
			wrong, err := c.Certificates().ForeignMaterial(ctx)
			Expect(err).NotTo(HaveOccurred())
			start := time.Now()
			w := startWriter(ctx, c, harness.WriterOptions{})
			joiner, err := c.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			t := watchOthers(ctx, c, joiner)
			given, err := t.given(ctx)
			Expect(err).NotTo(HaveOccurred())

			By("putting a pair of another CA in place on " + joiner + ", which then loses its data")
			volume, err := c.Volumes().Of(ctx, joiner)
			Expect(err).NotTo(HaveOccurred())
			t.lost = time.Now()
			Expect(c.Certificates().Corrupt(ctx, joiner, wrong)).To(Succeed())
			Expect(volume.Wipe(ctx)).To(Succeed())
			Expect(c.Servers().Kill(ctx, joiner)).To(Succeed())

			t.awaitReason(ctx, v1alpha1.ReasonMemberFailed, And(
				MatchRegexp(`certificate verify failed|unknown ca`), ContainSubstring("See the condition CertificatesValid")),
				joinTime)
			t.expectQuorum(ctx, w)
			By("waiting for the second attempt, and what it asks")
			Eventually(t.given).WithContext(ctx).WithTimeout(recoverTime).WithPolling(time.Second).
				Should(And(HaveKeyWithValue(t.others[0], BeNumerically(">", given[t.others[0]])),
					HaveKeyWithValue(t.others[1], BeNumerically(">", given[t.others[1]]))), "another donor is asked")
			attempts, err := c.Joins().Attempts(ctx, joiner, t.lost)
			Expect(err).NotTo(HaveOccurred())
			progress("attempts: %v", attempts)
			for i := 1; i < len(attempts); i++ {
				Expect(attempts[i].At.Sub(attempts[i-1].At)).To(BeNumerically(">=", firstBackoff))
				Expect(attempts[i].Data).NotTo(Equal("Present"))
			}

			By("deleting the pod: its successor takes the pair that is published")
			repaired := time.Now()
			_, err = c.Pods().Delete(ctx, joiner)
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Joins().Wait(ctx, joiner, repaired, recoverTime)).To(Equal("SST"))
			Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
			t.expectUndisturbed(ctx, w)
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(14*time.Minute))
})
