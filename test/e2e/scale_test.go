package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Scaling", Label(Core), func() {
	It("from 3 to 5 and back restarts no other node, and loses no acknowledged write", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		before := runs(ctx, shop)
		template := statefulSet(ctx, shop).Spec.Template
		w := startWriter(ctx, shop, harness.WriterOptions{})

		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		scale(ctx, shop, 5)
		expectJoins(ctx, shop, start, And(HaveLen(2), HaveKey("shop-3"), HaveKey("shop-4")))
		expectSpared(ctx, shop, primary, "shop-3", "shop-4")
		scale(ctx, shop, 3)
		Eventually(shop.Pods().Runs).WithContext(ctx).WithTimeout(shortly).Should(Equal(before),
			"no node that stays is restarted")
		Expect(statefulSet(ctx, shop).Spec.Template).To(Equal(template), "no pod is to be replaced")
		for _, name := range []string{"data-shop-3", "data-shop-4"} {
			Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: shop.Namespace, Name: name}, &corev1.PersistentVolumeClaim{})).
				To(Succeed(), "kept")
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("Scaling all the way", Label(Slow), func() {
	It("from 1 to 5 and back to 1 loses nothing; volumes are kept, or deleted, as asked for", func(ctx SpecContext) {
		c := sampleCluster(newNamespace(ctx, "scale"))
		c.Spec.Replicas = 1
		shop := create(ctx, c)
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		scale(ctx, shop, 3)
		expectJoins(ctx, shop, start, And(HaveKeyWithValue("shop-1", "SST"), HaveKeyWithValue("shop-2", "SST")))
		expectSpared(ctx, shop, primary, "shop-2") // shop-1 had no choice
		scale(ctx, shop, 5)
		expectJoins(ctx, shop, start, And(HaveKeyWithValue("shop-3", "SST"), HaveKeyWithValue("shop-4", "SST")))
		expectSpared(ctx, shop, primary, "shop-3", "shop-4")
		scale(ctx, shop, 3)

		By("coming back on the volume that was kept")
		again := time.Now()
		scale(ctx, shop, 5)
		expectJoins(ctx, shop, again, And(HaveKeyWithValue("shop-3", "IST"), HaveKeyWithValue("shop-4", "IST")))

		By("deleting the volumes of those who leave")
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) {
			s.Storage.PersistentVolumeClaimRetentionPolicy.WhenScaled = v1alpha1.ClaimDelete
		})
		scale(ctx, shop, 3)
		scale(ctx, shop, 1)
		Eventually(func() (int, error) {
			var claims corev1.PersistentVolumeClaimList
			err := kube.List(ctx, &claims, ctrlclient.InNamespace(shop.Namespace))
			return len(claims.Items), err
		}).WithContext(ctx).WithTimeout(shortly).Should(Equal(1))
		hibernate(ctx, shop)
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Hibernate = false })
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed(),
			"a hibernated cluster keeps its volume, whatever the policy for scaling")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))

	It("down is no reason to forget who has the last writes", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "scale")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		Expect(shop.Pods().ForceDeleteAll(ctx)).To(Succeed())
		Expect(shop.Scale(ctx, 1)).To(Succeed())
		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		Expect(status(ctx, shop).Replicas).To(BeEquivalentTo(1))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))
})

// scale scales a cluster and waits until it is well in its new size.
func scale(ctx context.Context, c *harness.Cluster, replicas int32) {
	GinkgoHelper()
	start := time.Now()
	Expect(c.Scale(ctx, replicas)).To(Succeed())
	Expect(c.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
	progress("scaled to %d in %s", replicas, time.Since(start).Round(100*time.Millisecond))
}

// expectSpared checks that nodes which took a full copy did not take it from the primary: another could give.
func expectSpared(ctx context.Context, c *harness.Cluster, primary string, joiners ...string) {
	GinkgoHelper()
	Expect(c.Primary(ctx)).To(Equal(primary), "the same all the time")
	for _, joiner := range joiners {
		eventually(ctx, func(o Gomega) { // the donor of a short copy may be reported after it
			m := joined(ctx, o, c, joiner)
			progress("%s: %s from %q, the primary is %s", joiner, m.Join.Kind, m.Join.Donor, primary)
			if m.Join.Kind == "SST" {
				o.Expect(m.Join.Donor).NotTo(Or(BeEmpty(), Equal(primary)), joiner)
			}
		})
	}
}

func runs(ctx context.Context, c *harness.Cluster) map[string]string {
	GinkgoHelper()
	out, err := c.Pods().Runs(ctx)
	Expect(err).NotTo(HaveOccurred())
	return out
}

func statefulSet(ctx context.Context, c *harness.Cluster) *appsv1.StatefulSet {
	GinkgoHelper()
	out := &appsv1.StatefulSet{}
	Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: c.Namespace, Name: c.Name}, out)).To(Succeed())
	return out
}
