package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// Sizes in MiB. What the cluster holds takes some 200, and the cache of write-sets, without which no node starts, 128
// more.
const (
	diskData   = 128
	diskSmall  = 120
	diskLarge  = 900
	diskRate   = 8 << 20 // bytes per second: the copy takes more than 20 seconds
	diskAdvice = "Free space, or raise spec.storage.size; the node then continues by itself"
)

var _ = Describe("A new volume that is too small for the data", Label(Slow, Faults), func() {
	It("is reported before a donor is troubled, and when it fills up on the way; with space the node joins",
		func(ctx SpecContext) {
			var disk *harness.NextDisk
			DeferCleanup(func(ctx SpecContext) { // after the namespace
				if disk != nil {
					Expect(disk.Remove(ctx)).To(Succeed())
				}
			})
			c := create(ctx, harness.Build(newNamespace(ctx, "tight"), "tight", limited(diskRate)))
			Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
			Expect(c.Data().Grow(ctx, diskData)).To(Succeed())
			replica, err := c.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			primary, err := c.Primary(ctx)
			Expect(err).NotTo(HaveOccurred())
			data, err := c.Data().BulkSum(ctx, primary)
			Expect(err).NotTo(HaveOccurred())
			disk, err = c.Volumes().CreateNextDisk(ctx, replica, diskSmall)
			Expect(err).NotTo(HaveOccurred())
			start := time.Now()
			w := startWriter(ctx, c, harness.WriterOptions{})

			By("giving it too little from the start")
			t := loseReplica(ctx, c)
			Expect(t.joiner).To(Equal(replica))
			given, err := t.given(ctx)
			Expect(err).NotTo(HaveOccurred())
			expectStalled(ctx, c, v1alpha1.ReasonDiskFull, replica, "no SST requested: it needs", diskAdvice)
			t.expectNoDonorAsked(ctx, given)
			t.expectQuorum(ctx, w)

			By("filling it up while the copy comes")
			Expect(disk.Resize(ctx, diskLarge)).To(Succeed())
			t.awaitData(ctx)
			given[t.donor]++
			Eventually(t.given).WithContext(ctx).WithTimeout(firstBackoff).Should(Equal(given), "one copy, from one donor")
			full := time.Now()
			Expect(disk.Fill(ctx)).To(Succeed())
			Eventually(func() ([]string, error) { return c.Joins().FailedAttempts(ctx, replica, full) }).
				WithContext(ctx).WithTimeout(joinTime).WithPolling(time.Second).Should(ContainElement(And(
				ContainSubstring("reason="+v1alpha1.ReasonDiskFull), ContainSubstring("from "+t.donor),
				MatchRegexp("exit code|signal"),
				ContainSubstring("No space left on device"))), "the reason, and what the programs of the transfer said")
			expectStalled(ctx, c, v1alpha1.ReasonDiskFull, replica, diskAdvice)
			t.expectNoDonorAsked(ctx, given)
			t.expectQuorum(ctx, w)

			By("making space")
			Expect(disk.Free(ctx)).To(Succeed())
			t.expectRetries(ctx, recoverTime)
			Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
			t.expectUndisturbed(ctx, w)
			for _, pod := range podNames(ctx, c) {
				Expect(c.Data().BulkSum(ctx, pod)).To(Equal(data), pod)
			}
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(16*time.Minute))
})
