package e2e

import (
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// leaseTime is for how long a renewal lasts, and a little more.
const leaseTime = 35 * time.Second

// clerk writes as an application does that has no special rights, and remembers when it was last acknowledged.
type clerk struct {
	mu   sync.Mutex
	n    int
	last time.Time
	err  error
	// gap is the longest time between two acknowledged writes.
	gap time.Duration
}

func (k *clerk) work(ctx SpecContext, cl *harness.Client, pod string) {
	for ctx.Err() == nil {
		k.mu.Lock()
		next := k.n + 1
		k.mu.Unlock()
		_, err := cl.QueryPod(ctx, pod, "REPLACE INTO e2e.clerk VALUES (?) RETURNING id", next)
		k.mu.Lock()
		if k.err = err; err == nil {
			if now := time.Now(); k.n > 0 {
				k.gap, k.last = max(k.gap, now.Sub(k.last)), now
			} else {
				k.last = now
			}
			k.n = next
		}
		k.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

func (k *clerk) seen() (n int, last time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n, k.last, k.err
}

var _ = Describe("A site with a write lease", Ordered, Label(Slow, Faults), func() {
	var first, second *harness.Cluster
	var objects *harness.ObjectStore

	leased := func(ctx SpecContext, state string, limit time.Duration) {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(status(ctx, first).WriteLease).To(Equal(state)) }).WithContext(ctx).
			WithTimeout(limit).WithPolling(200 * time.Millisecond).Should(Succeed())
	}
	// cut has the first site not reach the store any more, and keeps the second one's way to it.
	cut := func(ctx SpecContext) {
		GinkgoHelper()
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, kubeclient.InNamespace(first.Namespace))).To(Succeed())
		var addresses []string
		for _, p := range pods.Items {
			if component := p.Labels["app.kubernetes.io/component"]; (component == "lease" || component == "archiver") &&
				p.Status.PodIP != "" {
				addresses = append(addresses, p.Status.PodIP)
			}
		}
		Expect(addresses).To(HaveLen(3))
		Expect(kube.Network().CutBetween(ctx, addresses, []string{objects.PodIP()})).To(Succeed())
	}
	employ := func(ctx SpecContext) *clerk {
		GinkgoHelper()
		Expect(client(ctx, first).Exec(ctx, first.Name+"-primary", "DELETE FROM e2e.clerk")).To(Succeed())
		k := &clerk{}
		go k.work(ctx, client(ctx, first).As("app", nil).WithPassword("app"), first.Name+"-0")
		goesOn(k)
		return k
	}

	BeforeAll(func(ctx SpecContext) {
		first, objects = archivedCluster(ctx, func(s *v1alpha1.GaleraClusterSpec) {
			s.Replicas, s.Backup.PointInTime.WriteLease = 1, true
		})
		leased(ctx, v1alpha1.WriteLeaseHeld, shortly)
		cl := client(ctx, first)
		Expect(cl.Exec(ctx, first.Name+"-primary", "CREATE DATABASE IF NOT EXISTS e2e",
			"CREATE TABLE e2e.clerk (id INT PRIMARY KEY)", "CREATE USER app IDENTIFIED BY 'app'",
			"GRANT ALL ON e2e.* TO app")).To(Succeed())
		second = secondSite(ctx, first, objects)
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
	}, NodeTimeout(9*time.Minute))

	It("goes on writing while one of the two pods that renew it is killed", func(ctx SpecContext) {
		k := employ(ctx)
		start := time.Now()
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, kubeclient.InNamespace(first.Namespace),
			kubeclient.MatchingLabels{"app.kubernetes.io/component": "lease"})).To(Succeed())
		Expect(pods.Items).To(HaveLen(2))
		Expect(kube.Delete(ctx, &pods.Items[0], kubeclient.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(time.Since(start)).To(BeNumerically(">", leaseTime))
			_, last, err := k.seen()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(time.Since(last)).To(BeNumerically("<", 2*time.Second))
		}).WithContext(ctx).WithTimeout(2 * leaseTime).Should(Succeed())
	}, SpecTimeout(5*time.Minute))

	It("goes on writing while the lease is turned off, and on again", func(ctx SpecContext) {
		k := employ(ctx)
		change(ctx, first, func(s *v1alpha1.GaleraClusterSpec) { s.Backup.PointInTime.WriteLease = false })
		leased(ctx, "", 2*time.Minute)
		Eventually(func() error {
			return kube.Get(ctx, kubeclient.ObjectKey{Namespace: first.Namespace, Name: first.Name + "-lease"},
				&appsv1.Deployment{})
		}).WithContext(ctx).WithTimeout(shortly).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		change(ctx, first, func(s *v1alpha1.GaleraClusterSpec) { s.Backup.PointInTime.WriteLease = true })
		leased(ctx, v1alpha1.WriteLeaseHeld, 2*time.Minute)
		goesOn(k)
		k.mu.Lock()
		defer k.mu.Unlock()
		progress("the longest time without an acknowledged write was %s", k.gap.Round(time.Millisecond))
		Expect(k.gap).To(BeNumerically("<", 2*time.Second))
	}, SpecTimeout(6*time.Minute))

	It("refuses writes without the store, and accepts them again when no other has taken over", func(ctx SpecContext) {
		k := employ(ctx)
		cut(ctx)
		start := time.Now()
		stops(k, start)
		leased(ctx, v1alpha1.WriteLeaseEnded, shortly)
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonWriteLeaseEnded,
			shortly)).To(Succeed())
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonWriteLeaseEnded,
			shortly)).To(Succeed())
		change(ctx, first, func(s *v1alpha1.GaleraClusterSpec) { s.Backup.PointInTime.WriteLease = false })
		Expect(first.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.Backup.PointInTime = nil })).
			To(MatchError(ContainSubstring("wait until status.writeLease is gone")))
		Consistently(func() (string, error) {
			return client(ctx, first).QueryPod(ctx, first.Name+"-0", "SELECT @@read_only")
		}).WithTimeout(15 * time.Second).WithPolling(time.Second).Should(Equal("1"))
		change(ctx, first, func(s *v1alpha1.GaleraClusterSpec) { s.Backup.PointInTime.WriteLease = true })
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		goesOn(k)
		leased(ctx, v1alpha1.WriteLeaseHeld, shortly)
	}, SpecTimeout(5*time.Minute))

	It("acknowledges no write after another one that has taken over accepts them", func(ctx SpecContext) {
		k := employ(ctx)
		taken := make(chan string, 1)
		go func() {
			defer GinkgoRecover()
			defer close(taken)
			taken <- kubectlGalera(ctx, second.Namespace, "cutover", "standby", "--accept-loss")
		}()
		Eventually(func(g Gomega) {
			keys, err := objects.Keys(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(keys).To(ContainElement(HaveSuffix("promotions/1.json")))
		}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(100 * time.Millisecond).Should(Succeed())
		recorded := time.Now()
		cut(ctx) // the first site does not learn of it
		var opened time.Time
		Eventually(func(g Gomega) {
			value, err := client(ctx, second).QueryPod(ctx, "standby-0", "SELECT @@read_only")
			opened = time.Now()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(value).To(Equal("0"))
		}).WithContext(ctx).WithTimeout(2 * time.Minute).WithPolling(100 * time.Millisecond).Should(Succeed())
		n, last, err := k.seen()
		progress("the last write was acknowledged %s after the record, and the other one accepts them %s after it",
			last.Sub(recorded).Round(time.Second), opened.Sub(recorded).Round(time.Second))
		Expect(err).To(MatchError(ContainSubstring("read-only")))
		Expect(last).To(And(BeTemporally(">", recorded), BeTemporally("<", opened)))
		Eventually(taken).WithContext(ctx).WithTimeout(2 * time.Minute).Should(BeClosed())
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, first).Superseded).NotTo(BeNil()) })
		_, again, err := k.seen()
		Expect(err).To(MatchError(ContainSubstring("read-only")))
		Expect(again).To(Equal(last), "a write was acknowledged afterwards")
		Expect(client(ctx, first).QueryPod(ctx, first.Name+"-0", "SELECT MAX(id) FROM e2e.clerk")).To(Equal(strconv.Itoa(n)))
	}, SpecTimeout(6*time.Minute))
})

// goesOn waits until a clerk is acknowledged again.
func goesOn(k *clerk) {
	GinkgoHelper()
	before, _, _ := k.seen()
	Eventually(func(g Gomega) {
		n, _, err := k.seen()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(n).To(BeNumerically(">=", before+10))
	}).WithTimeout(shortly).WithPolling(100 * time.Millisecond).Should(Succeed())
}

// stops waits until it is refused, in time.
func stops(k *clerk, since time.Time) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		_, _, err := k.seen()
		g.Expect(err).To(MatchError(ContainSubstring("read-only")))
	}).WithTimeout(leaseTime).WithPolling(100 * time.Millisecond).Should(Succeed())
	_, last, _ := k.seen()
	progress("the last write was acknowledged %s after the store was cut off", last.Sub(since).Round(time.Millisecond))
	Expect(last.Sub(since)).To(BeNumerically("<", leaseTime-5*time.Second))
}
