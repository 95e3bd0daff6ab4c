package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A stranger on the replication port", Label(Core, Wire), func() {
	It("is not welcomed without TLS, nor with a certificate of another CA", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		genuine, err := shop.Certificates().Genuine(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := shop.Certificates().Foreign(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range podNames(ctx, shop) {
			patience := max(harness.GreetingTime, 3*expectWelcome(ctx, shop, pod, &genuine))
			for who, pair := range map[string]*harness.Pair{"plaintext": nil, "a foreign CA": &foreign} {
				greeting, err := shop.Peers().Dial(ctx, pod, pair, patience)
				Expect(err).NotTo(HaveOccurred())
				progress("%s, dialled with %s: %+v", pod, who, greeting)
				Expect(greeting.Welcomed).To(BeFalse(), "%s, dialled with %s: %s", pod, who, greeting.Refusal)
			}
		}
	}, SpecTimeout(6*time.Minute))

	It("does not become a member without TLS, nor with a certificate of another CA", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		genuine, err := shop.Certificates().Genuine(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := shop.Certificates().Foreign(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		By("starting a real arbitrator with the cluster's own certificate")
		began := time.Now()
		joined, output, err := shop.Peers().TryArbitrator(ctx, image, &genuine, shortly)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(joined).To(BeTrue(), output)
		patience := max(harness.JoiningTime, 2*time.Since(began))
		for who, pair := range map[string]*harness.Pair{"plaintext": nil, "a foreign CA": &foreign} {
			Expect(shop.WaitSynced(ctx, joinTime)).To(Succeed(), "by themselves again")
			By("starting one with " + who)
			joined, output, err := shop.Peers().TryArbitrator(ctx, image, pair, patience)
			Expect(err).NotTo(HaveOccurred(), output)
			Expect(joined).To(BeFalse(), output)
		}
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))
})

// expectWelcome dials a node until it speaks, and returns how long that took: strangers have to be listened to for
// longer.
func expectWelcome(ctx context.Context, c *harness.Cluster, pod string, pair *harness.Pair) (took time.Duration) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		began := time.Now()
		greeting, err := c.Peers().Dial(ctx, pod, pair, shortly/4)
		o.Expect(err).NotTo(HaveOccurred())
		o.Expect(greeting.Welcomed).To(BeTrue(), "%s: %s", pod, greeting.Refusal)
		took = time.Since(began)
	})
	return took
}
