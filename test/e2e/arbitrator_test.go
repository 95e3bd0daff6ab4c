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

// quorumGap is the longest the writer may wait when a node is lost: the group has to be sure of it. When the first
// agreement fails, as it may on a busy machine, it takes as long once more (evs.install_timeout). undisturbedGap is for
// others than the lost one.
const quorumGap, undisturbedGap = 30 * time.Second, 10 * time.Second

var _ = Describe("Two nodes and an arbitrator", func() {
	It("survive the loss of either node, encrypted", Label(Core, Faults), func(ctx SpecContext) {
		pair := create(ctx, sample(newNamespace(ctx, "pair"), "galera-arbitrator.yaml"))
		Expect(pair.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(pair.WaitHealthy(ctx, shortly)).To(Succeed())
		Expect(pair.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
			To(Succeed())
		eventually(ctx, func(o Gomega) { // its agent may be late once
			arbitrator := arbitratorOf(ctx, o, pair)
			o.Expect(arbitrator.Ready && arbitrator.Connected).To(BeTrue(), "%+v", *arbitrator)
			o.Expect(arbitrator.TLS).To(And(HaveField("Observed", "TLS"), HaveField("PlaintextRefused", true)))
		})
		Expect(markersOnReplication(ctx, pair)).To(BeZero(), "rows in clear text")

		By("killing each node, the primary last")
		start := time.Now()
		w := startWriter(ctx, pair, harness.WriterOptions{})
		replica, err := pair.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		loseNode(ctx, pair, w, replica)
		loseNode(ctx, pair, w, status(ctx, pair).Primary)
		Expect(status(ctx, pair).LastOperation.Type).To(Equal("FirstStart"), "nothing had to be recovered")

		By("killing the arbitrator")
		before := arbitratorProcess(ctx, pair)
		Expect(harness.KillArbitrator(ctx, pair)).To(Succeed())
		awaitAnotherArbitrator(ctx, pair, before)

		By("renewing the certificate: the nodes load it, the arbitrator is restarted in its turn")
		runsBefore, processBefore, serial := runs(ctx, pair), arbitratorProcess(ctx, pair), status(ctx, pair).TLS.Serial
		askFor(ctx, pair, "leaf@arbitrator")
		renewed := awaitRenewed(ctx, pair, serial)
		awaitAnotherArbitrator(ctx, pair, processBefore)
		eventually(ctx, func(o Gomega) {
			a := arbitratorOf(ctx, o, pair)
			o.Expect(a.TLS).NotTo(BeNil(), "its agent is to answer yet")
			o.Expect(a.TLS.Serial).To(Equal(renewed))
		})
		Expect(runs(ctx, pair)).To(Equal(runsBefore), "no node is restarted for it")
		stopAndCheck(ctx, w, start)

		By("refusing what would make the votes even")
		Expect(pair.Scale(ctx, 3)).To(MatchError(ContainSubstring("with spec.arbitrator.enabled replicas must be 2, 4 or 6")))
		Expect(pair.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.Arbitrator.Enabled = false })).
			To(MatchError(ContainSubstring("unless spec.arbitrator.enabled adds a vote")))
	}, SpecTimeout(8*time.Minute))

	It("switch their encryption, are hibernated, and change places with a third node", Label(Slow), func(ctx SpecContext) {
		pair := create(ctx, sample(newNamespace(ctx, "pair"), "galera-arbitrator.yaml"))
		Expect(pair.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(pair.WaitHealthy(ctx, shortly)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, pair, harness.WriterOptions{})

		By("turning a foreign arbitrator away")
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := pair.Certificates().Foreign(ctx)
		Expect(err).NotTo(HaveOccurred())
		joined, output, err := pair.Peers().TryArbitrator(ctx, image, &foreign, harness.JoiningTime)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(joined).To(BeFalse(), output)

		for _, strategy := range []string{v1alpha1.SwitchRolling, v1alpha1.SwitchRebootstrap} {
			for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
				By(strategy + " to " + string(to))
				switchReplication(ctx, pair, to, strategy)
				Expect(pair.WaitHealthy(ctx, recoverTime)).To(Succeed())
			}
		}
		Expect(pair.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
			To(Succeed())

		By("hibernating them")
		hibernate(ctx, pair)
		Expect(harness.ArbitratorPods(ctx, pair)).To(BeEmpty())
		resumed := time.Now()
		change(ctx, pair, func(s *v1alpha1.GaleraClusterSpec) { s.Hibernate = false })
		Expect(pair.WaitHealthy(ctx, recoverTime)).To(Succeed())
		expectNoFullTransfer(ctx, pair, resumed)

		By("killing both nodes at once")
		Expect(pair.Servers().Kill(ctx, "pair-0", "pair-1")).To(Succeed())
		Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed())
		Expect(pair.WaitHealthy(ctx, recoverTime)).To(Succeed())

		By("replacing the arbitrator by a node, and the node by an arbitrator")
		change(ctx, pair, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas, s.Arbitrator.Enabled = 3, false })
		Expect(pair.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
		Eventually(func() *v1alpha1.ArbitratorStatus { return status(ctx, pair).Arbitrator }).WithContext(ctx).
			WithTimeout(shortly).Should(BeNil())
		Expect(pair.WaitHealthy(ctx, recoverTime)).To(Succeed())
		change(ctx, pair, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas, s.Arbitrator.Enabled = 2, true })
		Expect(pair.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(18*time.Minute))
})

// arbitratorOf is what the status has on the arbitrator: nothing, while its agent does not answer.
func arbitratorOf(ctx context.Context, o Gomega, c *harness.Cluster) *v1alpha1.ArbitratorStatus {
	a := status(ctx, c).Arbitrator
	o.Expect(a).NotTo(BeNil())
	return a
}

// arbitratorProcess identifies the garbd that runs.
func arbitratorProcess(ctx context.Context, c *harness.Cluster) (process string) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		process = arbitratorOf(ctx, o, c).Process
		o.Expect(process).NotTo(BeEmpty())
	})
	return process
}

// loseNode kills a node's server at once, and sees that the others serve on.
func loseNode(ctx context.Context, c *harness.Cluster, w *harness.Writer, name string) {
	GinkgoHelper()
	lost := time.Now()
	Expect(c.Servers().Kill(ctx, name)).To(Succeed())
	Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed(), "without %s", name)
	gap := w.LongestGap(lost)
	progress("%s killed: longest interval without an acknowledged write %s", name, gap.Length.Round(time.Millisecond))
	Expect(gap.Length).To(BeNumerically("<", quorumGap))
	Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
}

func awaitAnotherArbitrator(ctx context.Context, c *harness.Cluster, before string) {
	GinkgoHelper()
	Eventually(func() bool {
		a := status(ctx, c).Arbitrator
		return a != nil && a.Ready && a.Process != before
	}).WithContext(ctx).WithTimeout(recoverTime).WithPolling(200 * time.Millisecond).Should(BeTrue())
	Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
}
