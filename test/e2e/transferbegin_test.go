package e2e

import (
	"context"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// slowCopy MiB at slowRate bytes per second take half a minute: whatever is done to a transfer is done in its middle.
	slowCopy = 384
	slowRate = 16 << 20
	// firstBackoff is the least pause between the end of a failed full transfer and the next attempt.
	firstBackoff = 15 * time.Second
)

// slowTransfers gives the shared cluster enough data, and its donors a limit, until the spec ends.
func slowTransfers(ctx context.Context) *harness.Cluster {
	GinkgoHelper()
	shop := sharedCluster(ctx)
	DeferCleanup(func(ctx SpecContext) {
		if shared != shop {
			return
		}
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.StateTransfer.RateLimit = nil })
		if !CurrentSpecReport().Failed() {
			Expect(shop.WaitReady(ctx, 2*shortly)).To(Succeed())
		}
	}, NodeTimeout(4*time.Minute))
	change(ctx, shop, limited(slowRate))
	Expect(shop.Data().Grow(ctx, slowCopy)).To(Succeed())
	Expect(shop.WaitHealthy(ctx, 2*shortly)).To(Succeed(), "all nodes have read the limit")
	return shop
}

func limited(bytesPerSecond int64) harness.Option {
	return func(s *v1alpha1.GaleraClusterSpec) {
		s.StateTransfer.RateLimit = resource.NewQuantity(bytesPerSecond, resource.BinarySI)
	}
}

// copying is a full transfer that goes on.
type copying struct {
	cluster *harness.Cluster
	joiner  string
	donor   string
	others  []string // all but the joiner
	lost    time.Time
	before  map[string]string // what the others ran
}

// beginCopy takes the volume of a replica away, and returns when data arrive on its new one.
func beginCopy(ctx context.Context, c *harness.Cluster) *copying {
	GinkgoHelper()
	out := loseReplica(ctx, c)
	out.awaitData(ctx)
	By(out.donor + " gives its data to " + out.joiner)
	return out
}

// loseReplica takes the volume of a replica away, so that it needs a full copy.
func loseReplica(ctx context.Context, c *harness.Cluster) *copying {
	GinkgoHelper()
	joiner, err := c.Replica(ctx)
	Expect(err).NotTo(HaveOccurred())
	out := watchOthers(ctx, c, joiner)
	out.lost = time.Now()
	Expect(c.Volumes().DeleteClaim(ctx, joiner)).To(Succeed())
	old, err := c.Pods().Delete(ctx, joiner)
	Expect(err).NotTo(HaveOccurred())
	Expect(c.Pods().WaitReplaced(ctx, joiner, old, joinTime)).To(Succeed())
	return out
}

// watchOthers remembers what all nodes but one run with.
func watchOthers(ctx context.Context, c *harness.Cluster, joiner string) *copying {
	GinkgoHelper()
	out := &copying{cluster: c, joiner: joiner, before: runs(ctx, c)}
	out.others = slices.DeleteFunc(podNames(ctx, c), func(n string) bool { return n == joiner })
	delete(out.before, joiner)
	return out
}

// awaitData waits until data arrive, and the status reports from whom.
func (t *copying) awaitData(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		m, err := t.cluster.Member(ctx, t.joiner)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(m).NotTo(BeNil())
		g.Expect(m.Join).NotTo(BeNil())
		g.Expect(m.Join.StartedAt.Time).To(BeTemporally(">=", t.lost.Truncate(time.Second)))
		g.Expect(m.Join.EndedAt).To(BeNil(), "the copy was over too soon to be seen")
		g.Expect(m.Join.Phase).To(Equal("Transferring"))
		g.Expect(m.Join.BytesDone).NotTo(BeNil())
		g.Expect(m.Join.Donor).NotTo(BeEmpty())
		t.donor = m.Join.Donor
	}).WithContext(ctx).WithTimeout(joinTime).WithPolling(200 * time.Millisecond).Should(Succeed())
	Expect(t.cluster.Transfers().Gives(ctx, t.donor)).To(BeTrue(), "%s is to be giving its data", t.donor)
}

// given counts the full copies the others say they have given, by their names.
func (t *copying) given(ctx context.Context) (map[string]int, error) {
	return t.cluster.Transfers().GivenBy(ctx, "SST", t.others...)
}

// expectNoDonorAsked checks for longer than the first pause between attempts that no node gives a copy beyond what was
// given.
func (t *copying) expectNoDonorAsked(ctx context.Context, given map[string]int) {
	GinkgoHelper()
	Consistently(t.given).WithContext(ctx).WithTimeout(2*firstBackoff).WithPolling(time.Second).
		Should(Equal(given), "no donor is troubled in vain")
}

// awaitReason waits until Ready is False for a reason, with such a message, which names the joiner.
func (t *copying) awaitReason(ctx context.Context, reason string, says OmegaMatcher, timeout time.Duration) string {
	GinkgoHelper()
	var message string
	Eventually(func(g Gomega) {
		ready, err := t.cluster.Condition(ctx, v1alpha1.ConditionReady)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Reason).To(Equal(reason), ready.Message)
		g.Expect(ready.Message).To(HavePrefix(t.joiner + ": "))
		g.Expect(ready.Message).To(says)
		message = ready.Message
	}).WithContext(ctx).WithTimeout(timeout).WithPolling(200 * time.Millisecond).Should(Succeed())
	progress("%s: %s", reason, message)
	return message
}

// expectRetries waits until the joiner has come in by a full copy. It must have taken more than one attempt, none
// at once after another, and what an earlier one had left was never taken for data.
func (t *copying) expectRetries(ctx context.Context, timeout time.Duration) {
	GinkgoHelper()
	Expect(t.cluster.Joins().Wait(ctx, t.joiner, t.lost, timeout)).To(Equal("SST"))
	attempts, err := t.cluster.Joins().Attempts(ctx, t.joiner, t.lost)
	Expect(err).NotTo(HaveOccurred())
	progress("%s has tried %d times: %v", t.joiner, len(attempts), attempts)
	Expect(len(attempts)).To(BeNumerically(">=", 2), "the first attempt is to have failed")
	for i, a := range attempts {
		Expect(a.Data).NotTo(Equal("Present"), "attempt %d took half a copy for data", i+1)
		if i > 0 {
			Expect(a.At.Sub(attempts[i-1].At)).To(BeNumerically(">=", firstBackoff), "attempt %d came too soon", i+1)
		}
	}
}

// expectUndisturbed checks that the others went on as if nothing was.
func (t *copying) expectUndisturbed(ctx context.Context, w *harness.Writer) {
	GinkgoHelper()
	after := runs(ctx, t.cluster)
	maps.DeleteFunc(after, func(name, _ string) bool { return name == t.joiner })
	Expect(after).To(Equal(t.before), "no other node is restarted")
	gap := w.LongestGap(t.lost)
	progress("longest interval without an acknowledged write: %s", gap.Length.Round(time.Millisecond))
	Expect(gap.Length).To(BeNumerically("<", quorumGap))
}

// expectQuorum checks that the others are in one component while the joiner is not there.
func (t *copying) expectQuorum(ctx context.Context, w *harness.Writer) {
	GinkgoHelper()
	Expect(w.WaitForMore(ctx, 100, shortly)).To(Succeed(), "the others serve")
	Expect(client(ctx, t.cluster).NodeState(ctx, t.joiner).Synced(len(t.others)+1)).To(BeFalse(),
		"half a copy must not serve")
	Expect(t.cluster.WaitCondition(ctx, v1alpha1.ConditionQuorumHealthy, metav1.ConditionTrue, v1alpha1.ReasonHealthy,
		shortly)).To(Succeed())
}
