package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A full disk", Label(Slow, Faults), func() {
	It("takes one node away at most, and the node comes back once there is space", func(ctx SpecContext) {
		disks, err := harness.CreateSmallDisks(ctx, kube, 800)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(disks.Remove(ctx)).To(Succeed()) })
		c := create(ctx, harness.Build(newNamespace(ctx, "small"), "small", harness.StorageClass(disks.Class),
			harness.Size("512Mi")))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, c, harness.WriterOptions{Payload: string(make([]byte, 2000))})
		pod, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		host, err := c.Pods().NodeOf(ctx, pod)
		Expect(err).NotTo(HaveOccurred())

		full := time.Now()
		Expect(disks.Fill(ctx, host)).To(Succeed())
		By("waiting until " + pod + " is no longer Synced")
		cl := client(ctx, c)
		Eventually(func() bool { return cl.NodeState(ctx, pod).Synced(3) }).
			WithContext(ctx).WithTimeout(recoverTime).WithPolling(time.Second).Should(BeFalse())
		Expect(w.WaitForMore(ctx, 200, shortly)).To(Succeed(), "the others must serve on")
		progress("longest interval without a write so far: %s", w.LongestGap(full).Length)

		freed := time.Now()
		Expect(disks.Free(ctx, host)).To(Succeed())
		expectRecovery(ctx, c, w, freed)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})
