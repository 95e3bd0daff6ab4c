package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A full state transfer that is cut off", Label(Slow, Faults), func() {
	BeforeEach(func(ctx SpecContext) {
		Expect(sharedCluster(ctx).Grow(ctx, 384)).To(Succeed(), "making the transfer take a while")
	}, NodeTimeout(8*time.Minute))

	for _, c := range []struct {
		name    string
		victims func(all []string, joiner, donor string) []string
	}{
		{"by the joiner's death, is begun again", func(_ []string, joiner, _ string) []string { return []string{joiner} }},
		{"by the donor's death, is begun again", func(_ []string, _, donor string) []string { return []string{donor} }},
		{"by everybody's death, never makes its joiner the start of the cluster", func(all []string, _, _ string) []string { return all }},
	} {
		It(c.name, func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			before := status(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			joiner, err := shop.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			lost := time.Now()
			Expect(shop.DeleteClaim(ctx, joiner)).To(Succeed())
			_, err = shop.DeletePod(ctx, joiner)
			Expect(err).NotTo(HaveOccurred())
			donor, err := shop.WaitTransfer(ctx, joiner, joinTime)
			Expect(err).NotTo(HaveOccurred())
			victims := c.victims(podNames(ctx, shop), joiner, donor)
			By("killing mariadbd while " + donor + " gives its data to " + joiner)
			killed := time.Now()
			Expect(shop.KillServers(ctx, victims...)).To(Succeed())

			expectRecovery(ctx, shop, w, killed)
			expectHistory(ctx, shop, before.ClusterUUID)
			joins, err := shop.Joins(ctx, lost)
			Expect(err).NotTo(HaveOccurred())
			Expect(joins).To(HaveKeyWithValue(joiner, "SST"))
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(10*time.Minute))
	}
})
