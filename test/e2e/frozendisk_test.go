package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// Storage that stands still for minutes is an everyday fault of networks of disks. MariaDB waits, and goes on.
var _ = Describe("Frozen disks", Label(Slow, Faults), func() {
	It("of all nodes, for four minutes, are reported and cost no restart", func(ctx SpecContext) {
		disks, err := harness.CreateFreezableDisks(ctx, kube, 1200)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(disks.Remove(ctx)).To(Succeed()) })
		c := create(ctx, harness.Build(newNamespace(ctx, "frozen"), "frozen", harness.StorageClass(disks.Class),
			harness.Size("1Gi")))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, c, harness.WriterOptions{})
		before := runs(ctx, c)

		Expect(disks.Freeze(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { _ = disks.Thaw(ctx) }) // fails when it is done already
		frozen := time.Now()
		for _, pod := range podNames(ctx, c) {
			awaitMessage(ctx, c, pod, "the data volume has not answered", shortly)
		}
		Consistently(func(o Gomega) {
			pods, err := c.Pods().List(ctx)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(pods).To(HaveLen(len(before)))
			for _, p := range pods {
				o.Expect(p.DeletionTimestamp).To(BeNil())
				for _, s := range p.Status.ContainerStatuses {
					o.Expect(s.RestartCount).To(BeZero(), p.Name)
				}
			}
		}).WithContext(ctx).WithTimeout(4*time.Minute - time.Since(frozen)).WithPolling(5 * time.Second).Should(Succeed())
		Expect(disks.Thaw(ctx)).To(Succeed())
		thawed := time.Now()

		Expect(w.WaitForMore(ctx, 50, recoverTime)).To(Succeed(), "writes go on")
		progress("frozen for %s; writes went on %s after that", thawed.Sub(frozen).Round(time.Second),
			time.Since(thawed).Round(100*time.Millisecond))
		Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
		Expect(runs(ctx, c)).To(Equal(before), "no container and no mariadbd was restarted")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))
})

// awaitMessage waits until the status says something of a member.
func awaitMessage(ctx context.Context, c *harness.Cluster, pod, text string, timeout time.Duration) {
	GinkgoHelper()
	Eventually(func() (string, error) {
		m, err := c.Member(ctx, pod)
		if err != nil || m == nil {
			return "", err
		}
		return m.Message, nil
	}).WithContext(ctx).WithTimeout(timeout).WithPolling(200*time.Millisecond).Should(ContainSubstring(text), pod)
}
