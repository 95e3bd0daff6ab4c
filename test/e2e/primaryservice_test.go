package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("The primary", Label(Core, Faults), Serial, func() {
	It("has its clients again after its pod was deleted, without any operator", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		before := primaryService(ctx, shop)

		old, err := shop.Pods().Delete(ctx, primary)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Pods().WaitReplaced(ctx, primary, old, joinTime)).To(Succeed())
		Expect(w.WaitForMore(ctx, 20, joinTime)).To(Succeed(), "the Service leads to the new pod")
		cl := client(ctx, shop)
		Expect(askService(ctx, cl, shop.Name+"-primary", "SELECT @@hostname")).To(Equal(primary))
		Expect(shop.WaitSynced(ctx, joinTime)).To(Succeed())

		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
		eventually(ctx, func(o Gomega) { // only an operator labels the pod: it has looked
			p := &corev1.Pod{}
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: shop.Namespace, Name: primary}, p)).To(Succeed())
			o.Expect(p.Labels).To(HaveKeyWithValue(v1alpha1.LabelRole, v1alpha1.RolePrimary))
		})
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		Expect(shop.Primary(ctx)).To(Equal(primary))
		after := primaryService(ctx, shop)
		Expect(after.Spec.Selector).To(Equal(before.Spec.Selector))
		Expect(after.ResourceVersion).To(Equal(before.ResourceVersion), "nothing was moved, not even there and back")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})

func primaryService(ctx context.Context, c *harness.Cluster) *corev1.Service {
	GinkgoHelper()
	s := &corev1.Service{}
	Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: c.Namespace, Name: c.Name + "-primary"}, s)).To(Succeed())
	return s
}
