package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A change of the configuration", Label(Core), func() {
	It("restarts one node at a time, the primary last, and loses no acknowledged write", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		down, err := harness.WatchDown(ctx, shop)
		Expect(err).NotTo(HaveOccurred())

		const wanted = "167772160" // 160 MiB
		setBufferPool(ctx, shop, wanted)
		cl := client(ctx, shop)
		for _, pod := range podNames(ctx, shop) {
			Eventually(func() (string, error) { return cl.QueryPod(ctx, pod, "SELECT @@innodb_buffer_pool_size") }).
				WithContext(ctx).WithTimeout(recoverTime).WithPolling(200*time.Millisecond).Should(Equal(wanted), pod)
		}
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())

		most, together, order, err := down.Stop()
		Expect(err).NotTo(HaveOccurred())
		progress("order of the restarts: %v", order)
		Expect(most).To(Equal(1), "at the same time not ready: %v", together)
		Expect(order).To(ConsistOf(podNames(ctx, shop)), "each node is restarted once")
		Expect(order[len(order)-1]).To(Equal(primary), "the primary is the last one: %v", order)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))

	It("is refused when it touches what the operator owns, and goes on once corrected", Label(Input),
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			down, err := harness.WatchDown(ctx, shop)
			Expect(err).NotTo(HaveOccurred())
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) {
				s.MariaDB.Config = withSetting(s.MariaDB.Config, "wsrep_cluster_address", "gcomm://")
			})
			expectStalled(ctx, shop, v1alpha1.ReasonForbiddenSetting, "wsrep_cluster_address", "Remove it")
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { delete(s.MariaDB.Config, "wsrep_cluster_address") })
			Expect(shop.WaitReady(ctx, joinTime)).To(Succeed())
			most, together, _, err := down.Stop()
			Expect(err).NotTo(HaveOccurred())
			Expect(most).To(BeZero(), "nothing may be restarted for a refused setting: %v", together)
		}, SpecTimeout(6*time.Minute))

	It("that the server itself refuses is found out before a node is touched, and goes on once corrected", Label(Input),
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			down, err := harness.WatchDown(ctx, shop)
			Expect(err).NotTo(HaveOccurred())
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) {
				s.MariaDB.Config = withSetting(s.MariaDB.Config, "no_such_setting", "1")
			})
			expectStalled(ctx, shop, v1alpha1.ReasonSettingsRefused, "no_such_setting")
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { delete(s.MariaDB.Config, "no_such_setting") })
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
			most, together, _, err := down.Stop()
			Expect(err).NotTo(HaveOccurred())
			Expect(most).To(BeZero(), "nothing may be restarted for a refused setting: %v", together)
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(8*time.Minute))
})

func setBufferPool(ctx SpecContext, c *harness.Cluster, bytes string) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) {
		s.MariaDB.Config = withSetting(s.MariaDB.Config, "innodb_buffer_pool_size", bytes)
	})
}

func withSetting(config map[string]v1alpha1.Setting, key, value string) map[string]v1alpha1.Setting {
	if config == nil {
		config = map[string]v1alpha1.Setting{}
	}
	config[key] = v1alpha1.Setting{Text: value}
	return config
}
