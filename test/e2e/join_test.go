package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("State transfers", Label(Slow, Wire), func() {
	It("by rsync show nothing in clear either", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		Expect(shop.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.StateTransfer.Method = "Rsync" })).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(shop.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.StateTransfer.Method = "MariaBackup" })).
				To(Succeed())
			Expect(shop.WaitReady(ctx, shortly)).To(Succeed())
		})
		Expect(shop.WaitReady(ctx, shortly)).To(Succeed())
		By("leaving them in clear first: the capture does find what rsync sends")
		DeferCleanup(func(ctx SpecContext) { setChannels(ctx, shop, v1alpha1.TLSRequired, "Required") },
			NodeTimeout(4*time.Minute))
		setChannels(ctx, shop, v1alpha1.TLSDisabled, "Required")
		Expect(captureTransfer(ctx, shop)[portTransfer].Markers).To(BeNumerically(">", 0))
		By("encrypting them")
		setChannels(ctx, shop, v1alpha1.TLSRequired, "Required")
		for port, n := range captureTraffic(ctx, shop) {
			Expect(n.Packets).To(BeNumerically(">", 0), "the capture must have seen port %d", port)
			Expect(n.Markers).To(BeZero(), "data in clear on port %d", port)
		}
		By("asking what the tunnel of a full copy spoke")
		joiner, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(loseVolume(ctx, shop, joiner)).To(Equal("SST"))
		eventually(ctx, func(o Gomega) {
			j := joined(ctx, o, shop, joiner).Join
			o.Expect([]string{j.Kind, j.Protocol, j.Cipher}).To(HaveExactElements(Equal("SST"), Equal("TLSv1.3"),
				HavePrefix("TLS_")))
		})
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
	}, SpecTimeout(14*time.Minute))

	It("may last longer than any probe is patient, and report how far they are", func(ctx SpecContext) {
		const mebibytes, perSecond = 2048, 10 << 20 // three minutes and a half; the most patient probe waits for two
		large := create(ctx, harness.Build(newNamespace(ctx, "large"), "large", harness.Size("6Gi"),
			func(s *v1alpha1.GaleraClusterSpec) {
				s.StateTransfer.RateLimit = resource.NewQuantity(perSecond, resource.BinarySI)
				s.StateTransfer.StallTimeout = &metav1.Duration{Duration: time.Minute}
			}))
		Expect(large.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(large.Data().Grow(ctx, mebibytes)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, large, harness.WriterOptions{})
		joiner, err := large.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		givers := watchGivers(ctx, large, joiner)
		since := time.Now()
		Expect(large.Volumes().DeleteClaim(ctx, joiner)).To(Succeed())
		old, err := large.Pods().Delete(ctx, joiner)
		Expect(err).NotTo(HaveOccurred())
		Expect(large.Pods().WaitReplaced(ctx, joiner, old, joinTime)).To(Succeed())
		pod, err := large.Pod(ctx, joiner)
		Expect(err).NotTo(HaveOccurred())
		seen := watchJoin(ctx, large, joiner, since, 10*time.Minute)

		after, err := large.Pod(ctx, joiner)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.UID).To(Equal(pod.UID), "the pod was replaced in the middle")
		Expect(after.Status.ContainerStatuses[0].RestartCount).To(BeZero())
		m, err := large.Member(ctx, joiner)
		Expect(err).NotTo(HaveOccurred())
		took := m.Join.EndedAt.Sub(m.Join.StartedAt.Time)
		progress("a full transfer of %s took %s; %d different figures were reported on the way", m.Join.BytesDone, took,
			len(seen))
		Expect(took).To(BeNumerically(">", 150*time.Second))
		Expect(len(seen)).To(BeNumerically(">", 8))
		Expect(len(seen)).To(BeNumerically("<=", int(took/(8*time.Second))), "the status was written too often")
		for i, j := range seen[2 : len(seen)-1] {
			Expect(j.Rate).NotTo(BeNil(), "figure %d", i)
			Expect(j.Rate.Value()).To(BeNumerically("~", perSecond, perSecond/2))
			Expect(j.ETA).NotTo(BeNil())
			Expect(j.BytesTotal.Value()).To(BeNumerically(">", mebibytes<<20))
		}
		givers.expect(ctx, "SST")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(25*time.Minute))
})

// watchJoin follows a node's full transfer in the status until it has joined, and returns every
// different figure that was reported while the data came.
func watchJoin(ctx context.Context, c *harness.Cluster, pod string, since time.Time,
	timeout time.Duration) []v1alpha1.JoinStatus {
	GinkgoHelper()
	var seen []v1alpha1.JoinStatus
	Eventually(func(g Gomega) {
		m, err := c.Member(ctx, pod)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(m).NotTo(BeNil())
		if j := m.Join; j != nil && j.Phase == "Transferring" && j.BytesDone != nil {
			if n := len(seen); n == 0 || seen[n-1].BytesDone.Cmp(*j.BytesDone) != 0 {
				progress("%s: %s", pod, j.Message)
				seen = append(seen, *j)
			}
		}
		g.Expect(m.Join).NotTo(BeNil())
		g.Expect(m.Join.StartedAt.Time).To(BeTemporally(">=", since.Truncate(time.Second)))
		g.Expect(m.Join.EndedAt).NotTo(BeNil())
		g.Expect(m.NodeState).To(Equal("Synced"))
	}).WithContext(ctx).WithTimeout(timeout).WithPolling(time.Second).Should(Succeed())
	return seen
}
