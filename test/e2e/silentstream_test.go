package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("An incremental state transfer", Label(Slow, Faults), func() {
	It("over whose connection nothing comes any more is ended and begun anew", func(ctx SpecContext) {
		const missed, passes = 64, 16 // MiB
		c := create(ctx, harness.Build(newNamespace(ctx, "silent"), "shop", harness.Size("2Gi"),
			func(s *v1alpha1.GaleraClusterSpec) {
				s.StateTransfer.StallTimeout = &metav1.Duration{Duration: time.Minute}
			}))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		before := status(ctx, c)
		start := time.Now()
		w := startWriter(ctx, c, harness.WriterOptions{})
		joiner, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		t := watchOthers(ctx, c, joiner)
		t.lost = time.Now()
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
		Expect(c.Volumes().Offline(ctx, joiner, func(harness.Volume) error {
			if err := c.Data().Grow(ctx, missed); err != nil {
				return err
			}
			return kube.Network().CutAfter(ctx, portIncremental, passes)
		})).To(Succeed())

		t.awaitReason(ctx, v1alpha1.ReasonTransferFailed, And(
			ContainSubstring("IST from"), ContainSubstring("nothing received for 1m0s on an established connection")),
			4*time.Minute)
		t.expectQuorum(ctx, w)
		healed := time.Now()
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		Expect(c.Joins().Wait(ctx, joiner, t.lost, recoverTime)).To(Equal("IST"), "what it had and what came is not lost")
		expectRecovery(ctx, c, w, healed)
		expectHistory(ctx, c, before.ClusterUUID)
		t.expectUndisturbed(ctx, w)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})
