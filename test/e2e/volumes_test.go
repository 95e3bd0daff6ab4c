package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A lost or wrong volume", Label(Slow, Faults), func() {
	It("lost while the others serve, is filled again by a full transfer", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(loseVolume(ctx, shop, primary)).To(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))

	It("lost while no node runs, needs the approval that the condition prints", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		lost := "shop-2"
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		Expect(shop.Pods().ScaleSet(ctx, 0)).To(Succeed())
		Expect(shop.Volumes().DeleteClaim(ctx, lost)).To(Succeed())
		Expect(shop.Pods().ScaleSet(ctx, 3)).To(Succeed())
		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())

		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionQuorumHealthy, metav1.ConditionFalse, v1alpha1.ReasonDataLost,
			recoverTime)).To(Succeed())
		expectStalled(ctx, shop, v1alpha1.ReasonDataLost, lost, "shop-0 "+before.ClusterUUID, "shop-1 "+before.ClusterUUID)
		By("checking that nothing happens without an approval, nor with a wrong one")
		approve(ctx, shop, &v1alpha1.RecoveryApproval{Member: "shop-0", History: before.ClusterUUID, Seqno: 1,
			Epoch: 1, Without: []v1alpha1.GivenUpMember{{Name: lost}}})
		Consistently(w.Acknowledged).WithContext(ctx).WithTimeout(20 * time.Second).WithPolling(time.Second).
			Should(Equal(w.Acknowledged()))

		By("doing what the condition says")
		cond, err := shop.Condition(ctx, v1alpha1.ConditionStalled)
		Expect(err).NotTo(HaveOccurred())
		Expect(cond.Message).To(ContainSubstring("is for another situation"))
		approved := time.Now()
		approve(ctx, shop, askedApproval(ctx, shop))
		expectRecovery(ctx, shop, w, approved)
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start)
		removeApproval(ctx, shop)
	}, SpecTimeout(12*time.Minute))

	It("restored from an old snapshot, catches up", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		snapshot := takeSnapshot(ctx, shop, pod)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		Expect(w.WaitForMore(ctx, 500, shortly)).To(Succeed())
		Expect(shop.Volumes().Offline(ctx, pod, func(v harness.Volume) error { return v.Restore(ctx, snapshot) })).
			To(Succeed())
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))

	It("restored from an old snapshot after a full crash, is not what the cluster starts from", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		pod := "shop-0" // the lowest ordinal wins a tie: it must not win here
		snapshot := takeSnapshot(ctx, shop, pod)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		Expect(w.WaitForMore(ctx, 500, shortly)).To(Succeed())
		crashed := time.Now()
		Expect(shop.Volumes().Offline(ctx, pod, func(v harness.Volume) error {
			if err := v.Restore(ctx, snapshot); err != nil {
				return err
			}
			crashed = time.Now()
			return shop.Pods().ForceDeleteAll(ctx)
		})).To(Succeed())
		expectRecovery(ctx, shop, w, crashed)
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))

	It("of another cluster, is refused and reported while the rest serve on", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		other := create(ctx, harness.Build(newNamespace(ctx, "other"), "other", harness.Replicas(1)))
		Expect(other.WaitReady(ctx, firstReady)).To(Succeed())
		foreignUUID := status(ctx, other).ClusterUUID
		hibernate(ctx, other)
		foreign, err := other.Volumes().Of(ctx, "other-0")
		Expect(err).NotTo(HaveOccurred())

		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Volumes().Offline(ctx, pod, func(v harness.Volume) error { return v.Restore(ctx, foreign) })).
			To(Succeed())
		expectStalled(ctx, shop, v1alpha1.ReasonForeignData, pod)
		Expect(w.WaitForMore(ctx, 200, shortly)).To(Succeed(), "the rest must serve on")
		quorum, err := shop.Condition(ctx, v1alpha1.ConditionQuorumHealthy)
		Expect(err).NotTo(HaveOccurred())
		Expect(quorum.Status).To(Equal(metav1.ConditionTrue), quorum.Message)
		m, err := shop.Member(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		Expect(m.Position).To(HavePrefix(foreignUUID), "the foreign data must not have been touched")

		By("taking the foreign volume away")
		Expect(loseVolume(ctx, shop, pod)).To(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})

// takeSnapshot copies a volume while its node is down.
func takeSnapshot(ctx context.Context, c *harness.Cluster, pod string) (out harness.Volume) {
	GinkgoHelper()
	Expect(c.Volumes().Offline(ctx, pod, func(v harness.Volume) (err error) {
		out, err = v.Snapshot(ctx, fmt.Sprintf("%s-%s", c.Namespace, pod))
		return err
	})).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(out.Remove(ctx)).To(Succeed()) })
	return out
}

// approve gives an approval.
func approve(ctx context.Context, c *harness.Cluster, given *v1alpha1.RecoveryApproval) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.Recovery = &v1alpha1.RecoverySpec{Approval: given} })
}

func removeApproval(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.Recovery = nil })
}
