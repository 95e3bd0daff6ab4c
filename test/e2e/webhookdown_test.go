package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A cluster without cert-manager's webhook", Label(Slow, Faults), func() {
	It("recovers from a full crash with a new operator, and catches up when the webhook is back", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := status(ctx, shop)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		fix, err := shop.Certificates().BreakWebhook(ctx)
		DeferCleanup(fix)
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Operator().Replace(ctx)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCertManagerUnavailable,
			2*time.Minute)).To(Succeed())
		askFor(ctx, shop, "leaf@"+start.Format("150405.000"))

		By("killing every mariadbd after the error has lasted for a while")
		crashed := time.Now()
		Expect(shop.Servers().Kill(ctx, podNames(ctx, shop)...)).To(Succeed())
		expectRecovery(ctx, shop, w, crashed)
		expectHistory(ctx, shop, before.ClusterUUID)
		expectNoFullTransfer(ctx, shop, crashed)
		Expect(status(ctx, shop).TLS.Serial).To(Equal(before.TLS.Serial), "no certificate can have been issued")

		By("fixing the webhook")
		Expect(fix(ctx)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonHealthy, shortly)).
			To(Succeed())
		awaitRenewed(ctx, shop, before.TLS.Serial)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})
