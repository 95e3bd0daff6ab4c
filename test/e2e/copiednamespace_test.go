package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// A copied ConfigMap names the hosts of the original, and the copied Secret is valid for them: without an identity, the
// copy's nodes join the original, and the copy's Services lead to it.
var _ = Describe("A copied namespace without the resource", Label(Core, Faults), func() {
	It("joins nothing, and takes no writes", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		cl := client(ctx, shop)
		eventually(ctx, func(o Gomega) {
			o.Expect(cl.ExecThrough(ctx, shop, shop.Name, "CREATE DATABASE IF NOT EXISTS copied_from")).To(Succeed(),
				"the way that the copy's clients take")
		})
		staging := newNamespace(ctx, "staging")
		var copied *harness.Cluster
		Eventually(func() (err error) {
			copied, err = shop.CopyTo(ctx, staging)
			return err
		}).WithContext(ctx).WithTimeout(shortly).WithPolling(time.Second).Should(Succeed(),
			"a busy API server may refuse a request")

		By("waiting until every agent of the copy has refused the configuration")
		refusal := "the published configuration is that of the cluster " + shop.Namespace + "/" + shop.Name
		for _, pod := range podNames(ctx, shop) {
			Eventually(func(o Gomega) {
				text, err := copied.Pods().Logs(ctx, pod, 0, false)
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(text).To(ContainSubstring(refusal), "%s of the copy", pod)
			}).WithContext(ctx).WithTimeout(joinTime).WithPolling(time.Second).Should(Succeed())
			expectAlone(ctx, shop)
			have, err := copied.Pod(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			Expect(harness.PodReady(have)).To(BeFalse(), "%s of the copy", pod)
		}
		for _, service := range []string{shop.Name, shop.Name + "-primary"} {
			Expect(cl.ExecThrough(ctx, copied, service, "CREATE DATABASE copied_to")).NotTo(Succeed(), "through the copy's %s",
				service)
		}
		Expect(cl.QueryPod(ctx, shop.Name+"-0",
			"SELECT GROUP_CONCAT(SCHEMA_NAME) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'copied%'")).
			To(Equal("copied_from"))
		expectAlone(ctx, shop)
		Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
		Expect(cl.Exec(ctx, shop.Name+"-primary", "DROP DATABASE copied_from")).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})

// expectAlone: every node counts the cluster's own nodes, and no others.
func expectAlone(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	cl := client(ctx, c)
	for _, pod := range podNames(ctx, c) {
		size, err := cl.QueryPod(ctx, pod,
			"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'wsrep_cluster_size'")
		Expect(err).NotTo(HaveOccurred())
		Expect(size).To(Equal("3"), "members in the group of %s", pod)
	}
}
