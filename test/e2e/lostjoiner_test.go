package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A donor by rsync", Label(Slow, Faults), func() {
	It("whose joiner is gone without a word serves again long before its kernel gives up", func(ctx SpecContext) {
		const data, passes = 256, 64 // MiB
		c := create(ctx, harness.Build(newNamespace(ctx, "lostjoiner"), "shop", harness.Size("2Gi"),
			func(s *v1alpha1.GaleraClusterSpec) {
				s.StateTransfer.Method = "Rsync"
				s.StateTransfer.StallTimeout = &metav1.Duration{Duration: time.Minute}
			}))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(c.Data().Grow(ctx, data)).To(Succeed())
		before := status(ctx, c)
		start := time.Now()
		w := startWriter(ctx, c, harness.WriterOptions{})
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
		// So that the copy is sure to be in its middle when the joiner goes.
		Expect(kube.Network().CutAfter(ctx, portTransfer, passes)).To(Succeed())
		t := loseReplica(ctx, c)
		Eventually(func(g Gomega) {
			m, err := c.Member(ctx, t.joiner)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m).NotTo(BeNil())
			g.Expect(m.Join).NotTo(BeNil())
			g.Expect(m.Join.StartedAt.Time).To(BeTemporally(">=", t.lost.Truncate(time.Second)))
			g.Expect(m.Join.Phase).To(Equal("Transferring"))
			g.Expect(m.Join.Donor).NotTo(BeEmpty())
			t.donor = m.Join.Donor
		}).WithContext(ctx).WithTimeout(joinTime).WithPolling(200 * time.Millisecond).Should(Succeed())
		By("nothing passing any more between " + t.joiner + " and the others, " + t.donor + " giving to it")
		Expect(kube.Network().Partition(ctx, c, []string{t.joiner}, t.others)).To(Succeed())
		gone := time.Now()
		Consistently(func() bool { return client(ctx, c).NodeState(ctx, t.donor).Synced(2) }).
			WithContext(ctx).WithTimeout(noticeTime).WithPolling(time.Second).Should(BeFalse(), "the network may come back")
		// A minute where the joiner had space, and four where it had none.
		Eventually(func() bool { return client(ctx, c).NodeState(ctx, t.donor).Synced(2) }).
			WithContext(ctx).WithTimeout(6*time.Minute).WithPolling(time.Second).Should(BeTrue(), "the donor is to serve again")
		progress("the donor was Synced %s after its joiner was gone", time.Since(gone).Round(time.Second))
		t.expectQuorum(ctx, w)

		healed := time.Now()
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		Expect(c.Joins().Wait(ctx, t.joiner, t.lost, 2*recoverTime)).To(Equal("SST"))
		expectRecovery(ctx, c, w, healed)
		expectHistory(ctx, c, before.ClusterUUID)
		t.expectUndisturbed(ctx, w)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(20*time.Minute))
})
