package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A hibernated cluster", Label(Core), func() {
	It("stops in order, keeps its data, and goes on from where it was", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		hibernate(ctx, shop)
		hibernated := status(ctx, shop)
		for _, m := range hibernated.Members {
			Expect(m.Position).To(HavePrefix(before.ClusterUUID), "the position of %s stays known", m.Name)
		}

		resumed := time.Now()
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Hibernate = false })
		expectRecovery(ctx, shop, w, resumed)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, resumed)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))
})

// hibernate hibernates a cluster and waits until all its pods are gone.
func hibernate(ctx SpecContext, c *harness.Cluster) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.Hibernate = true })
	Eventually(func() (int, error) {
		pods, err := c.Pods().List(ctx)
		return len(pods), err
	}).WithContext(ctx).WithTimeout(recoverTime).WithPolling(200 * time.Millisecond).Should(BeZero())
	Expect(c.WaitCondition(ctx, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonHibernated, shortly)).
		To(Succeed())
	Expect(c.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonHibernated, shortly)).
		To(Succeed())
}
