package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A full state transfer that is cut off", Label(Slow, Faults), func() {
	for _, c := range []struct {
		name    string
		victims func(all []string, joiner, donor string) []string
	}{
		{"by the joiner's death, is begun again", func(_ []string, joiner, _ string) []string { return []string{joiner} }},
		{"by the donor's death, is begun again", func(_ []string, _, donor string) []string { return []string{donor} }},
		{"by the death of all, never makes its joiner the start of the cluster",
			func(all []string, _, _ string) []string { return all }},
	} {
		It(c.name, func(ctx SpecContext) {
			shop := slowTransfers(ctx)
			before := status(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			t := beginCopy(ctx, shop)
			By("killing mariadbd in its middle")
			killed := time.Now()
			Expect(shop.Servers().Kill(ctx, c.victims(podNames(ctx, shop), t.joiner, t.donor)...)).To(Succeed())

			expectRecovery(ctx, shop, w, killed)
			expectHistory(ctx, shop, before.ClusterUUID)
			t.expectRetries(ctx, shortly)
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(14*time.Minute))
	}
})
