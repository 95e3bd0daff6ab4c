package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var _ = Describe("The archive of a cluster that is changed", Ordered, Label(Slow, Faults), func() {
	var a *archived

	BeforeAll(func(ctx SpecContext) {
		shop, objects := archivedCluster(ctx)
		a = &archived{shop: shop, objects: objects}
	}, NodeTimeout(9*time.Minute))

	It("goes on through a switch of TLS, there and back", func(ctx SpecContext) {
		a.through(ctx, func() {
			for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
				switchReplication(ctx, a.shop, to, v1alpha1.SwitchRolling)
			}
		})
	}, SpecTimeout(10*time.Minute))

	It("goes on through a restart of every node, one after the other", func(ctx SpecContext) {
		a.through(ctx, func() {
			setBufferPool(ctx, a.shop, "167772160")
			for _, pod := range podNames(ctx, a.shop) {
				Eventually(func() (string, error) {
					return client(ctx, a.shop).QueryPod(ctx, pod, "SELECT @@innodb_buffer_pool_size")
				}).
					WithContext(ctx).WithTimeout(recoverTime).WithPolling(200*time.Millisecond).Should(Equal("167772160"), pod)
			}
			Expect(a.shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		})
	}, SpecTimeout(10*time.Minute))

	It("goes on when nodes are added and taken away", func(ctx SpecContext) {
		a.through(ctx, func() {
			scale(ctx, a.shop, 5)
			scale(ctx, a.shop, 3)
		})
	}, SpecTimeout(10*time.Minute))

	It("states that the store is away, and goes on from the nodes' binary logs when it is back", func(ctx SpecContext) {
		a.through(ctx, func() {
			Expect(a.objects.CutOff(ctx)).To(Succeed())
			DeferCleanup(kube.Network().Heal)
			Expect(a.shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionFalse,
				v1alpha1.ReasonStoreUnreachable, archiveTime)).To(Succeed())
			progress("the store is away: %s", status(ctx, a.shop).Backup.Message)
			Expect(kube.Network().Heal(ctx)).To(Succeed())
			Expect(a.shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
				v1alpha1.ReasonArchiving, archiveTime)).To(Succeed())
		})
	}, SpecTimeout(10*time.Minute))

	It("goes on after a hibernation", func(ctx SpecContext) { a.throughHibernation(ctx) }, SpecTimeout(10*time.Minute))

	It("is restored to a transaction between two changes, and to the latest, row by row", func(ctx SpecContext) {
		a.restored(ctx, "")
	}, SpecTimeout(9*time.Minute))
})
