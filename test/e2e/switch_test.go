package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// switchTime is what six restarts may take at most.
const switchTime = 4 * time.Minute

var _ = Describe("The encryption of replication", func() {
	It("is switched off and on while the cluster serves", Label(Core), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		down, err := harness.WatchDown(ctx, shop)
		Expect(err).NotTo(HaveOccurred())
		for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
			s := switchReplication(ctx, shop, to, v1alpha1.SwitchRolling)
			Expect(s.JoinsBySST).To(BeZero(), "no node needs a full copy")
			Expect(s.Outage).To(HaveValue(BeZero()), "a node always serves")
		}
		most, together, _, err := down.Stop()
		Expect(err).NotTo(HaveOccurred())
		Expect(most).To(BeNumerically("<=", 1), "not ready at once: %v", together)
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
			To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))

	It("is switched by restarting the last node that serves, where that is asked for", Label(Slow), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
			s := switchReplication(ctx, shop, to, v1alpha1.SwitchRebootstrap)
			Expect(s.Outage).To(HaveValue(HaveField("Duration", BeNumerically(">", 0))), "one restart is an outage")
			Expect(s.JoinsBySST).To(BeZero(), "no node needs a full copy")
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))

	It("goes back when it is wanted no more halfway", Label(Slow), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		for _, mode := range []string{"Dynamic", "Plain"} {
			setReplication(ctx, shop, v1alpha1.TLSDisabled, v1alpha1.SwitchRolling)
			Eventually(func() string { return status(ctx, shop).TLS.Replication }).WithContext(ctx).WithTimeout(switchTime).
				WithPolling(100 * time.Millisecond).Should(Equal(mode))
			Eventually(func() int32 { return status(ctx, shop).ReadyReplicas }).WithContext(ctx).WithTimeout(shortly).
				WithPolling(100*time.Millisecond).ShouldNot(BeEquivalentTo(3), "a node is being moved")
			switchReplication(ctx, shop, v1alpha1.TLSRequired, v1alpha1.SwitchRolling)
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))

	It("is switched though the operator is killed again and again", Label(Slow), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		for _, strategy := range []string{v1alpha1.SwitchRolling, v1alpha1.SwitchRebootstrap} {
			for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
				setReplication(ctx, shop, to, strategy)
				killAtEveryStep(ctx, shop)
				switchReplication(ctx, shop, to, strategy)
			}
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(20*time.Minute))

	It("has nothing in clear after it was switched on, and did before", Label(Slow), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		switchReplication(ctx, shop, v1alpha1.TLSDisabled, v1alpha1.SwitchRolling)
		Expect(markersOnReplication(ctx, shop)).To(BeNumerically(">", 0), "the test could not fail")
		switchReplication(ctx, shop, v1alpha1.TLSRequired, v1alpha1.SwitchRolling)
		Expect(markersOnReplication(ctx, shop)).To(BeZero())
	}, SpecTimeout(10*time.Minute))
})

func setReplication(ctx context.Context, c *harness.Cluster, to v1alpha1.ReplicationTLS, strategy string) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.TLS.Replication, s.TLS.SwitchStrategy = to, strategy })
}

// switchReplication switches, waits for the end, and returns what the status says of it.
func switchReplication(ctx context.Context, c *harness.Cluster, to v1alpha1.ReplicationTLS,
	strategy string) *v1alpha1.SwitchStatus {
	GinkgoHelper()
	began := time.Now()
	setReplication(ctx, c, to, strategy)
	mode := map[v1alpha1.ReplicationTLS]string{v1alpha1.TLSDisabled: "Plain", v1alpha1.TLSRequired: "Strict"}[to]
	Eventually(func() string {
		t := status(ctx, c).TLS
		if t == nil || t.Switch != nil || t.LastSwitch == nil {
			return "switching"
		}
		return t.Replication
	}).WithContext(ctx).WithTimeout(switchTime).WithPolling(200 * time.Millisecond).Should(Equal(mode))
	Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
	last := status(ctx, c).TLS.LastSwitch
	progress("%s to %s: %s, outage %s, joins by IST %d, by SST %d", last.Strategy, last.To,
		time.Since(began).Round(time.Second), last.Outage.Duration, last.JoinsByIST, last.JoinsBySST)
	return last
}

// killAtEveryStep kills the operator each time the journal shows another entry, until the switch is over.
func killAtEveryStep(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	seen := map[string]bool{}
	Eventually(func() bool {
		s := status(ctx, c)
		if op := s.Operation; op != nil {
			step := fmt.Sprint(op.ID, op.Step, op.Target, s.TLS.Replication)
			if !seen[step] {
				seen[step] = true
				Expect(kube.Operator().Replace(ctx)).To(Succeed())
			}
			return false
		}
		return len(seen) > 0 && s.TLS.Switch == nil
	}).WithContext(ctx).WithTimeout(2 * switchTime).WithPolling(100 * time.Millisecond).Should(BeTrue())
	progress("the operator was killed at %d steps", len(seen))
}

// markersOnReplication writes rows for a while and counts what of them is seen in clear on port 4567.
func markersOnReplication(ctx context.Context, c *harness.Cluster) int {
	GinkgoHelper()
	marker := "MARKER" + rand.Text()[:8]
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	capture, err := harness.StartCapture(ctx, workers, []uint16{portReplication}, marker)
	Expect(err).NotTo(HaveOccurred())
	w := startWriter(ctx, c, harness.WriterOptions{Payload: marker})
	Expect(w.WaitForMore(ctx, 200, shortly)).To(Succeed())
	w.Stop()
	counts, err := capture.Stop()
	Expect(err).NotTo(HaveOccurred())
	Expect(counts[portReplication].Packets).To(BeNumerically(">", 0))
	return counts[portReplication].Markers
}
