package e2e

import (
	"context"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// toldTime bounds how long a server may hang before it is reported: half of it is the agent's patience.
const toldTime = 4 * time.Minute

var _ = Describe("A member that keeps a recovery waiting", Label(Slow, Faults), func() {
	It("answers, is ahead and was given up: the printed command works the first time", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		w := startWriter(ctx, shop, harness.WriterOptions{})
		w.Stop()
		start := time.Now()

		By("writing on shop-2 alone")
		cordonAll(ctx)
		for _, pod := range []string{"shop-0", "shop-1"} {
			deletePodAndWait(ctx, shop, pod)
		}
		cl := client(ctx, shop)
		eventually(ctx, func(o Gomega) {
			_, err := cl.QueryPod(ctx, "shop-2", "SELECT 1")
			o.Expect(err).NotTo(HaveOccurred())
		})
		db, err := cl.OpenPod(ctx, "shop-2")
		Expect(err).NotTo(HaveOccurred())
		for _, statement := range []string{"CREATE DATABASE IF NOT EXISTS alone", "CREATE TABLE alone.t (id INT PRIMARY KEY)",
			"INSERT INTO alone.t VALUES (1)"} {
			_, err := db.ExecContext(ctx, statement)
			Expect(err).NotTo(HaveOccurred(), statement)
		}
		Expect(db.Close()).To(Succeed())

		By("damaging its order book while no operator looks")
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			uncordonAll(ctx) // or it would find no host
			Expect(kube.Operator().Scale(ctx, 1)).To(Succeed())
		})
		v, err := shop.Volumes().Of(ctx, "shop-2")
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Pods().ForceDelete(ctx, "shop-2")).To(Succeed())
		Expect(v.DamageOrderBook(ctx)).To(Succeed())
		uncordonAll(ctx)
		Expect(kube.Operator().Scale(ctx, 1)).To(Succeed())

		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionQuorumHealthy, metav1.ConditionFalse,
			v1alpha1.ReasonOrderBookDamaged, recoverTime)).To(Succeed())
		asked := askedApproval(ctx, shop)
		Expect(asked.Without).To(Equal([]v1alpha1.GivenUpMember{{Name: "shop-2", As: "Gone"}}))
		approved := time.Now()
		approve(ctx, shop, asked)
		quorum := func() int32 { return status(ctx, shop).ReadyReplicas }
		Eventually(quorum).WithContext(ctx).WithTimeout(recoverTime).WithPolling(200*time.Millisecond).
			Should(BeEquivalentTo(2), "the others serve without shop-2")
		AddReportEntry("two Synced after the approval", time.Since(approved).Round(10*time.Millisecond).String())
		last := status(ctx, shop).LastOperation
		Expect(last).NotTo(BeNil())
		Expect(last.Type).To(Equal("Recover"))
		Expect(asked.Epoch).To(Equal(last.Epoch),
			"the very operation the approval was for has to be the one that started the cluster")

		By("giving shop-2 an empty volume, as its condition says")
		Expect(loseVolume(ctx, shop, "shop-2")).To(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		expectHistory(ctx, shop, before.ClusterUUID)
		Expect(w.Check(ctx)).To(Succeed(), "what the others had is not lost")
		stopAndCheck(ctx, startWriter(ctx, shop, harness.WriterOptions{}), start)
		removeApproval(ctx, shop)
	}, SpecTimeout(12*time.Minute))

	It("hangs: that is reported, and the others recover without it after the approval", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		hung, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Servers().Signal(ctx, hung, syscall.SIGSTOP)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { _ = shop.Servers().Signal(ctx, hung, syscall.SIGCONT) }) // it may be gone
		By("killing the others")
		var others []string
		for _, name := range podNames(ctx, shop) {
			if name != hung {
				others = append(others, name)
			}
		}
		// At once: while others serve, its own agent would kill it after a minute, and it would join them again.
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, others...)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonMemberFailed,
			toldTime)).To(Succeed())
		AddReportEntry("reported", time.Since(killed).Round(time.Second).String())
		Eventually(func(o Gomega) {
			o.Expect(askedApproval(ctx, shop).Without).To(ContainElement(v1alpha1.GivenUpMember{Name: hung, As: "Running"}))
		}).WithContext(ctx).WithTimeout(recoverTime).WithPolling(time.Second).Should(Succeed())
		approve(ctx, shop, askedApproval(ctx, shop))
		expectRecovery(ctx, shop, w, killed)
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start) // nothing is given up: the server was killed, and its position is known then
		removeApproval(ctx, shop)
	}, SpecTimeout(15*time.Minute))

	It("hangs while it is the one to leave: it is killed, and leaves", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 5 })
		DeferCleanup(func(ctx SpecContext) { change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 3 }) })
		Expect(shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
		Expect(shop.Servers().Signal(ctx, "shop-4", syscall.SIGSTOP)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonMemberFailed,
			toldTime)).To(Succeed())
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 3 })
		Expect(shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
		Expect(podNames(ctx, shop)).To(HaveLen(3))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(18*time.Minute))
})

// askedApproval is the approval that the cluster asks a person for.
func askedApproval(ctx context.Context, c *harness.Cluster) *v1alpha1.RecoveryApproval {
	GinkgoHelper()
	var asked *v1alpha1.RecoveryApproval
	Eventually(func() (*v1alpha1.RecoveryApproval, error) {
		asked = nil
		have, err := c.Get(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range have.Status.RequiredActions {
			if a.Approval != nil {
				asked = a.Approval
			}
		}
		return asked, nil
	}).WithContext(ctx).WithTimeout(toldTime).ShouldNot(BeNil())
	return asked
}

func cordonAll(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(uncordonAll)
	setCordon(ctx, true)
}

func uncordonAll(ctx context.Context) { setCordon(ctx, false) }

func setCordon(ctx context.Context, cordoned bool) {
	GinkgoHelper()
	nodes, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, node := range nodes {
		Expect(kube.Hosts().Cordon(ctx, node, cordoned)).To(Succeed())
	}
}

// deletePodAndWait deletes a pod that cannot come back while all hosts are cordoned.
func deletePodAndWait(ctx context.Context, c *harness.Cluster, name string) {
	GinkgoHelper()
	old, err := c.Pods().Delete(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() bool {
		p, err := c.Pod(ctx, name)
		return apierrors.IsNotFound(err) || err == nil && p.UID != old
	}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(200 * time.Millisecond).Should(BeTrue())
}
