package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A planned change of sites", Ordered, Label(Slow), func() {
	var first, second *harness.Cluster
	var ns string

	BeforeAll(func(ctx SpecContext) {
		var objects *harness.ObjectStore
		first, objects = archivedCluster(ctx)
		second = secondSite(ctx, first, objects)
		ns = second.Namespace
		for _, of := range []*harness.Cluster{first, second} { // accounts are not followed
			Expect(client(ctx, of).Exec(ctx, of.Name+"-primary", "CREATE USER app IDENTIFIED BY 'app'",
				"GRANT ALL ON sites.* TO app")).To(Succeed())
		}
		Expect(client(ctx, first).Exec(ctx, first.Name+"-primary", "CREATE DATABASE sites",
			"CREATE TABLE sites.t (id INT PRIMARY KEY)")).To(Succeed())
	}, NodeTimeout(15*time.Minute))

	It("is taken back", func(ctx SpecContext) {
		w := writeAtSites(ctx, first, second)
		w.acknowledges(ctx, 5)
		to, err := second.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(first.Change(ctx, func(c *v1alpha1.GaleraCluster) {
			c.Spec.SwitchSite = &v1alpha1.SwitchSiteSpec{UID: string(c.UID), To: v1alpha1.SiteCluster{
				Namespace: to.Namespace, Name: to.Name, UID: string(to.UID)}}
		})).To(Succeed())
		Eventually(func(o Gomega) {
			s := status(ctx, first).SwitchSite
			o.Expect(s).NotTo(BeNil())
			o.Expect(s.Phase).To(Equal(v1alpha1.SwitchOffered), "%+v", s)
		}).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Succeed())
		token := status(ctx, first).SwitchSite.Token
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonSwitchingSite,
			time.Minute)).To(Succeed())
		Expect(position(ctx, first, first.Name+"-0")).To(Equal(token.GTID))
		progress("%s", kubectlGalera(ctx, first.Namespace, "switch-site", first.Name, "--back"))
		Expect(status(ctx, first).SwitchSite.Phase).To(Equal(v1alpha1.SwitchTakenBack))
		w.acknowledges(ctx, 5)
		Expect(w.end().other).To(BeZero(), "writes at the second site")

		By("trying the token all the same")
		Expect(second.Change(ctx, func(c *v1alpha1.GaleraCluster) {
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: token.GTID, UID: token.To, Token: token}
		})).To(Succeed())
		Expect(second.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue,
			v1alpha1.ReasonSwitchWithdrawn, 3*time.Minute)).To(Succeed())
		Expect(second.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.Cutover = nil })).To(Succeed())
		follows(ctx, second)
	}, SpecTimeout(12*time.Minute))

	It("loses nothing that was acknowledged", func(ctx SpecContext) {
		w := writeAtSites(ctx, first, second)
		w.acknowledges(ctx, 20)
		Eventually(func() error { // the channel of the second one may still be made anew
			out, notes, err := tryKubectlGalera(ctx, first.Namespace, "switch-site", first.Name, "--to", second.Name,
				"--to-namespace", ns)
			if err != nil && !strings.Contains(err.Error(), "nothing was changed") {
				return StopTrying(notes).Wrap(err)
			}
			progress("%s", out)
			return err
		}).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Succeed())
		w.acknowledges(ctx, 10)
		sum := w.end()
		Expect(sum.other).To(BeNumerically(">", 0), "writes at the second site")
		progress("longest interval without an acknowledged write: %s", sum.gap.Round(time.Millisecond))
		Expect(sum.gap).To(BeNumerically("<", time.Minute), "neither program is started anew for it")
		AddReportEntry("gap of a planned change of sites", sum.gap.Round(time.Millisecond).String())
		for _, pod := range podNames(ctx, second) {
			out, err := client(ctx, second).QueryPod(ctx, pod, "SELECT GROUP_CONCAT(id ORDER BY id) FROM sites.t")
			Expect(err).NotTo(HaveOccurred())
			has := strings.Split(out, ",")
			for _, id := range sum.acknowledged {
				Expect(has).To(ContainElement(strconv.Itoa(id)), "an acknowledged row is lost")
			}
		}
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSuperseded,
			time.Minute)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			s := status(ctx, first)
			o.Expect(s.SwitchSite.Phase).To(Equal(v1alpha1.SwitchTaken))
			o.Expect(s.Superseded.Surplus).To(HaveValue(BeZero()))
		})
		_, err := client(ctx, first).As("app", nil).WithPassword("app").QueryPod(ctx, first.Name+"-1",
			"INSERT INTO sites.t VALUES (-1) RETURNING id")
		Expect(err).To(MatchError(ContainSubstring("read-only")))

		By("losing that the second one has taken over")
		by, have := status(ctx, first).Superseded.ID, &v1alpha1.GaleraCluster{}
		have.Namespace, have.Name = first.Namespace, first.Name
		Expect(kube.Status().Patch(ctx, have, kubeclient.RawPatch(types.MergePatchType,
			[]byte(`{"status":{"superseded":null}}`)))).To(Succeed())
		Consistently(func(o Gomega) {
			config := &corev1.ConfigMap{}
			o.Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: first.Namespace, Name: first.Name + "-config"}, config)).
				To(Succeed())
			o.Expect(config.Data).To(HaveKeyWithValue(agentapi.ConfigKey, ContainSubstring(`"refuse":true`)))
		}).WithTimeout(10 * time.Second).WithPolling(100 * time.Millisecond).Should(Succeed())
		Expect(status(ctx, first).Superseded).To(HaveField("ID", by))
	}, SpecTimeout(10*time.Minute))

	It("has the first one follow, and changes back", func(ctx SpecContext) {
		w := writeAtSites(ctx, second, first)
		progress("%s", kubectlGalera(ctx, first.Namespace, "switch-site", first.Name, "--to", second.Name, "--to-namespace",
			ns, "--rejoin", "--identity-secret", "identity"))
		rejoined(ctx, first, second)
		w.acknowledges(ctx, 20)
		w.end()
		sameRows(ctx, second, first)

		By("changing back")
		w = writeAtSites(ctx, second, first)
		w.acknowledges(ctx, 20)
		progress("%s", kubectlGalera(ctx, ns, "switch-site", second.Name, "--to", first.Name, "--to-namespace",
			first.Namespace, "--rejoin", "--identity-secret", "identity"))
		w.acknowledges(ctx, 10)
		sum := w.end()
		Expect(sum.other).To(BeNumerically(">", 0), "writes at the first site")
		for _, pod := range podNames(ctx, first) {
			out, err := client(ctx, first).QueryPod(ctx, pod, "SELECT GROUP_CONCAT(id ORDER BY id) FROM sites.t")
			Expect(err).NotTo(HaveOccurred())
			has := strings.Split(out, ",")
			for _, id := range sum.acknowledged {
				Expect(has).To(ContainElement(strconv.Itoa(id)), "an acknowledged row is lost")
			}
		}

		By("following again, the other way round")
		rejoined(ctx, second, first)
		w = writeAtSites(ctx, first, second)
		w.acknowledges(ctx, 20)
		Expect(w.end().other).To(BeZero(), "writes at the second site")
		sameRows(ctx, first, second)
		Expect(status(ctx, first).Superseded).To(BeNil(), "the record of before counts")
	}, SpecTimeout(14*time.Minute))
})

// rejoined waits until a cluster follows the one that has taken over from it.
func rejoined(ctx SpecContext, c, by *harness.Cluster) {
	GinkgoHelper()
	began := time.Now()
	Expect(by.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
		v1alpha1.ReasonArchiving, archiveTime+backupTime)).To(Succeed())
	progress("%s is archived after %s", by.Name, time.Since(began).Round(time.Second))
	Eventually(func(o Gomega) {
		s := status(ctx, c)
		o.Expect(s.Reseed).NotTo(BeNil())
		o.Expect(s.Reseed.Phase).To(Equal(v1alpha1.ReseedCompleted), "%+v", s.Reseed)
		o.Expect(s.Superseded).To(BeNil())
	}).WithContext(ctx).WithTimeout(firstReady + backupTime).WithPolling(time.Second).Should(Succeed())
	Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
	Expect(c.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
		2*time.Minute)).To(Succeed())
	progress("%s follows %s after %s", c.Name, by.Name, time.Since(began).Round(time.Second))
}

// sameRows waits until a cluster has applied all of another one, and compares what each of its nodes has.
func sameRows(ctx SpecContext, of, follower *harness.Cluster) {
	GinkgoHelper()
	last := position(ctx, of, of.Name+"-0")
	eventually(ctx, func(o Gomega) {
		r := status(ctx, follower).Replication
		o.Expect(r).NotTo(BeNil())
		o.Expect(strings.Split(r.Applied, ",")).To(ContainElement(last), "%+v", r)
	})
	const rows = "SET STATEMENT wsrep_sync_wait = 1 FOR SELECT GROUP_CONCAT(id ORDER BY id) FROM sites.t"
	want, err := client(ctx, of).QueryPod(ctx, of.Name+"-0", rows)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range podNames(ctx, follower) {
		Expect(client(ctx, follower).QueryPod(ctx, pod, rows)).To(Equal(want), pod)
	}
	progress("%s: %d rows at %s and %s", last, strings.Count(want, ",")+1, of.Name, follower.Name)
}

// siteWriter writes, as an application does, to one of two sites: to the other one when the one refuses.
type siteWriter struct {
	mu   sync.Mutex
	now  siteWrites
	last time.Time
	stop context.CancelFunc
	done sync.WaitGroup
}

// siteWrites are what was acknowledged, and how much of it by the other site.
type siteWrites struct {
	acknowledged []int
	other        int
	gap          time.Duration
}

func writeAtSites(ctx SpecContext, first, second *harness.Cluster) *siteWriter {
	GinkgoHelper()
	of := []*harness.Client{client(ctx, first).As("app", nil).WithPassword("app"),
		client(ctx, second).As("app", nil).WithPassword("app")}
	pods := []string{first.Name + "-0", second.Name + "-0"}
	began, err := client(ctx, first).QueryPod(ctx, pods[0], "SELECT COALESCE(MAX(id), 0) FROM sites.t")
	Expect(err).NotTo(HaveOccurred())
	id, err := strconv.Atoi(began)
	Expect(err).NotTo(HaveOccurred())
	within, cancel := context.WithCancel(ctx)
	w := &siteWriter{stop: cancel}
	DeferCleanup(func() { w.end() })
	w.done.Go(func() {
		for at := 0; within.Err() == nil; {
			id++
			if _, err := of[at].QueryPod(within, pods[at], fmt.Sprintf("INSERT INTO sites.t VALUES (%d) RETURNING id",
				id)); err != nil {
				at = 1 - at
				continue
			}
			w.acknowledge(id, at)
		}
	})
	return w
}

func (w *siteWriter) acknowledge(id, at int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); !w.last.IsZero() {
		w.now.gap = max(w.now.gap, now.Sub(w.last))
	}
	w.last = time.Now()
	w.now.acknowledged = append(w.now.acknowledged, id)
	w.now.other += at
}

func (w *siteWriter) have() siteWrites {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.now
	out.acknowledged = slices.Clone(out.acknowledged)
	return out
}

// acknowledges waits for more rows.
func (w *siteWriter) acknowledges(ctx context.Context, more int) {
	GinkgoHelper()
	before := len(w.have().acknowledged)
	Eventually(func() int { return len(w.have().acknowledged) }).WithContext(ctx).WithTimeout(2 * time.Minute).
		WithPolling(200 * time.Millisecond).Should(BeNumerically(">=", before+more))
}

// end ends it.
func (w *siteWriter) end() siteWrites {
	w.stop()
	w.done.Wait()
	return w.have()
}
