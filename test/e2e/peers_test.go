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
		genuine, err := shop.GenuinePair(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := shop.ForeignPair(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range podNames(ctx, shop) {
			for _, c := range []struct {
				who      string
				pair     *harness.Pair
				welcomed bool
			}{{"plaintext", nil, false}, {"a foreign CA", &foreign, false}, {"the cluster's own certificate", &genuine, true}} {
				if c.welcomed {
					expectWelcome(ctx, shop, pod, c.pair)
					continue
				}
				greeting, err := shop.DialPeer(ctx, pod, c.pair)
				Expect(err).NotTo(HaveOccurred())
				progress("%s, dialled with %s: %+v", pod, c.who, greeting)
				Expect(greeting.Welcomed).To(BeFalse(), "%s, dialled with %s: %s", pod, c.who, greeting.Refusal)
			}
		}
	}, SpecTimeout(6*time.Minute))

	It("does not become a member without TLS, nor with a certificate of another CA", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		image, err := kube.DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		genuine, err := shop.GenuinePair(ctx)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := shop.ForeignPair(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		for _, c := range []struct {
			who    string
			pair   *harness.Pair
			member bool
		}{{"plaintext", nil, false}, {"a foreign CA", &foreign, false}, {"the cluster's own certificate", &genuine, true}} {
			By("starting a real arbitrator with " + c.who)
			joined, output, err := shop.TryArbitrator(ctx, image, c.pair, c.member)
			Expect(err).NotTo(HaveOccurred(), output)
			Expect(joined).To(Equal(c.member), "an arbitrator with %s: member %t\n%s", c.who, joined, output)
		}
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))
})

// expectWelcome dials a node until it speaks: a busy one may take longer than strangers are listened to.
func expectWelcome(ctx context.Context, c *harness.Cluster, pod string, pair *harness.Pair) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		greeting, err := c.DialPeer(ctx, pod, pair)
		o.Expect(err).NotTo(HaveOccurred())
		o.Expect(greeting.Welcomed).To(BeTrue(), "%s: %s", pod, greeting.Refusal)
	})
}
