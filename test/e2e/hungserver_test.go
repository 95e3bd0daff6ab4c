package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// A process that exists and does not answer is worse than one that has died: nothing notices by itself.
var _ = Describe("A mariadbd that hangs", Label(Slow, Faults), func() {
	It("while the others serve, is reported, killed and Synced again", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		before := runs(ctx, shop)
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Servers().Hang(ctx, pod)).To(Succeed())
		hung := time.Now()
		Expect(w.WaitForMore(ctx, 100, shortly)).To(Succeed(), "the others serve on")
		s, err := shop.Agents().Scrape(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		up, known := s.Value("mysql_up")
		Expect([]any{up, known}).To(Equal([]any{0.0, true}), "its agent still answers a scrape")
		Expect(s.Took).To(BeNumerically("<", 4*time.Second))
		Expect(s.Families).To(HaveKey("galera_agent_info"))
		awaitMessage(ctx, shop, pod, "has not answered on its socket", 2*time.Minute)
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		progress("Synced again %s after the hang began", time.Since(hung).Round(time.Second))
		after := runs(ctx, shop)
		Expect(after[pod]).NotTo(Equal(before[pod]), "another mariadbd runs")
		before[pod], after[pod] = "", ""
		Expect(after).To(Equal(before), "no other node was restarted")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))

	It("in the middle of a rolling restart holds that up for minutes, not for ever", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Servers().Hang(ctx, pod)).To(Succeed())
		const wanted = "150994944" // 144 MiB
		setBufferPool(ctx, shop, wanted)
		cl := client(ctx, shop)
		for _, name := range podNames(ctx, shop) {
			Eventually(func() (string, error) { return cl.QueryPod(ctx, name, "SELECT @@innodb_buffer_pool_size") }).
				WithContext(ctx).WithTimeout(2*recoverTime).WithPolling(time.Second).Should(Equal(wanted), name)
		}
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})
