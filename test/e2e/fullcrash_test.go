package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A cluster that went down altogether", Label(Core, Faults), func() {
	It("recovers its history after SIGKILL of every mariadbd, and lets nodes join again", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		bootstraps, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, podNames(ctx, shop)...)).To(Succeed())
		expectRecovery(ctx, shop, w, killed)

		By("looking for the zero UUID, into which no node could ever join again")
		expectHistory(ctx, shop, before.ClusterUUID)
		after, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after-bootstraps).To(Equal(1), "bootstraps for one crash")
		By("letting a node join")
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(loseIncrementally(ctx, shop, w, pod)).To(Equal("IST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))

	It("gets its quorum back after SIGKILL of a majority", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, primaryFirst(podNames(ctx, shop), before.Primary)[:2]...)).To(Succeed())
		expectRecovery(ctx, shop, w, killed)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, killed)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))

	It("needs no full transfer after forced deletion of all pods", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		deleted := time.Now()
		Expect(shop.Pods().ForceDeleteAll(ctx)).To(Succeed())
		expectRecovery(ctx, shop, w, deleted)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, deleted)
		bootstraps, err := shop.Joins().Bootstraps(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(bootstraps).To(Equal(1), "bootstraps of the new pods")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})

// expectRecovery waits until all is well again after a full crash, and reports how long it took.
func expectRecovery(ctx context.Context, c *harness.Cluster, w *harness.Writer, crashed time.Time) {
	GinkgoHelper()
	Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed(), "the cluster must take writes again")
	if first, ok := w.FirstWriteAfter(crashed); ok {
		AddReportEntry("first write", first.Sub(crashed).Round(10*time.Millisecond).String())
	}
	Expect(c.WaitSynced(ctx, recoverTime)).To(Succeed())
	AddReportEntry("all Synced", time.Since(crashed).Round(10*time.Millisecond).String())
	Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
	AddReportEntry("Ready", time.Since(crashed).Round(10*time.Millisecond).String())
}

// expectHistory checks, on every node, that the cluster goes on with the history it had.
func expectHistory(ctx context.Context, c *harness.Cluster, uuid string) {
	GinkgoHelper()
	Expect(uuid).NotTo(Or(BeEmpty(), Equal(galera.ZeroUUID)))
	var nodes []harness.NodeState
	eventually(ctx, func(o Gomega) { // one that is busy answers late
		nodes = client(ctx, c).NodeStates(ctx, podNames(ctx, c))
		o.Expect(nodes).To(HaveEach(HaveField("Err", BeNil())))
	})
	for _, node := range nodes {
		Expect(node.ClusterUUID).To(Equal(uuid), node.Pod)
	}
	Expect(status(ctx, c).ClusterUUID).To(Equal(uuid))
}

// expectNoFullTransfer checks how the nodes joined, by the status and by the servers' own words.
func expectNoFullTransfer(ctx context.Context, c *harness.Cluster, since time.Time) {
	GinkgoHelper()
	joins, err := c.Joins().Since(ctx, since)
	Expect(err).NotTo(HaveOccurred())
	progress("joined since the fault: %v", joins)
	for pod, kind := range joins {
		Expect(kind).NotTo(Equal("SST"), pod)
	}
	transfers, err := c.Transfers().Full(ctx, since)
	Expect(err).NotTo(HaveOccurred())
	Expect(transfers).To(BeEmpty(), "nodes that took a full transfer, by their logs")
}
