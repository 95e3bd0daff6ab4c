package e2e

import (
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Two sites that change places", Ordered, Label(Slow, Faults), func() {
	var first, second *harness.Cluster
	var ns string
	var w *harness.Writer
	var began time.Time
	k := drawKills()

	// parts are what takes part while follower follows another one.
	parts := func(of, follower *harness.Cluster) []victim {
		return []victim{theOperator(), theAgent(follower), theNode(follower), theArchiver(of), theReader(follower),
			theAgent(of)}
	}
	// rows waits until all that is written by now is at the second one.
	rows := func(ctx SpecContext) {
		GinkgoHelper()
		last := position(ctx, first, first.Name+"-0")
		Eventually(func(o Gomega) {
			r := status(ctx, second).Replication
			o.Expect(r).NotTo(BeNil())
			o.Expect(r.Applied).NotTo(BeEmpty())
			o.Expect(sequence(r.Applied)).To(BeNumerically(">=", sequence(last)), "%+v", r)
		}).WithContext(ctx).WithTimeout(recoverTime).WithPolling(200 * time.Millisecond).Should(Succeed())
		Expect(second.WaitReady(ctx, recoverTime)).To(Succeed())
	}
	// goes waits until the first one, whose only node may have been killed, takes more rows, and the second one has them.
	goes := func(ctx SpecContext) {
		GinkgoHelper()
		Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed())
		rows(ctx)
	}
	// kept are the rows that were acknowledged at both sites, in the end on every node.
	kept := func(ctx SpecContext, at *harness.Cluster, sum siteWrites) {
		GinkgoHelper()
		for _, pod := range podNames(ctx, at) {
			var out string
			Eventually(func() (err error) { // the node that was killed may not be back yet
				out, err = client(ctx, at).QueryPod(ctx, pod,
					"SET STATEMENT wsrep_sync_wait = 1 FOR SELECT GROUP_CONCAT(id ORDER BY id) FROM sites.t")
				return err
			}).WithContext(ctx).WithTimeout(recoverTime).WithPolling(time.Second).Should(Succeed(), pod)
			has := map[string]bool{}
			for id := range strings.SplitSeq(out, ",") {
				has[id] = true
			}
			for _, id := range sum.acknowledged {
				Expect(has).To(HaveKey(strconv.Itoa(id)), "an acknowledged row is lost on %s", pod)
			}
		}
		progress("%d acknowledged rows on %s, nothing acknowledged for %s at most", len(sum.acknowledged), at.Name,
			sum.gap.Round(time.Millisecond))
	}
	switching := func(c *v1alpha1.GaleraCluster) bool { return c.Status.SwitchSite != nil && c.Switching() }

	BeforeAll(func(ctx SpecContext) {
		var objects *harness.ObjectStore
		first, objects = archivedCluster(ctx, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 1 })
		ns = newSite(ctx, first, objects)
		Expect(client(ctx, first).Exec(ctx, first.Name+"-primary", "CREATE DATABASE sites",
			"CREATE TABLE sites.t (id INT PRIMARY KEY)", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON sites.* TO app")).
			To(Succeed())
		began = time.Now()
		w = startWriter(ctx, first, harness.WriterOptions{Interval: 50 * time.Millisecond})
	}, NodeTimeout(9*time.Minute))

	It("are seeded, catch up and stream through kills", func(ctx SpecContext) {
		second = create(ctx, standbyOf(ctx, first, ns))
		k.at(ctx, "seeding", copies(second), theOperator(), theCopier(second), theArchiver(first), theAgent(first))
		follows(ctx, second)
		k.at(ctx, "catching up", atOnce, parts(first, second)...)
		goes(ctx)

		By("streaming")
		streamTo(ctx, first, second)
		streams := shows(second, func(c *v1alpha1.GaleraCluster) bool {
			r := c.Status.Replication
			return r != nil && r.Stream != nil && r.Stream.Connected && r.Stream.Error == ""
		})
		k.at(ctx, "streaming", streams, parts(first, second)...)
		goes(ctx)
		Eventually(streams).WithContext(ctx).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(BeTrue())

		By("comparing")
		stopAndCheck(ctx, w, began)
		rows(ctx)
		want, err := first.Data().Written(ctx, first.Name+"-0")
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range podNames(ctx, second) {
			Expect(second.Data().Written(ctx, pod)).To(Equal(want), pod)
		}
	}, SpecTimeout(12*time.Minute))

	It("change places through a kill, and lose nothing", func(ctx SpecContext) {
		Expect(client(ctx, second).Exec(ctx, second.Name+"-primary", "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'app'",
			"GRANT ALL ON sites.* TO app")).To(Succeed()) // those of later than the backup are not followed
		writer := writeAtSites(ctx, first, second)
		writer.acknowledges(ctx, 20)
		done := again(ctx, first.Namespace, "switch-site", first.Name, "--to", second.Name, "--to-namespace", ns)
		k.at(ctx, "changing places", shows(first, switching), append(parts(first, second), theNode(first))...)
		Eventually(done).WithContext(ctx).WithTimeout(6 * time.Minute).Should(BeClosed())
		Eventually(func() int { return writer.have().other }).WithContext(ctx).WithTimeout(2 * time.Minute).
			Should(BeNumerically(">", 20))
		kept(ctx, second, writer.end())
		eventually(ctx, func(o Gomega) {
			s := status(ctx, first)
			o.Expect(s.SwitchSite).To(HaveField("Phase", v1alpha1.SwitchTaken))
			o.Expect(s.Superseded).To(HaveField("Surplus", HaveValue(BeZero())))
		})
	}, SpecTimeout(9*time.Minute))

	It("join again through a kill", func(ctx SpecContext) {
		writer := writeAtSites(ctx, second, first)
		done := again(ctx, first.Namespace, "switch-site", first.Name, "--to", second.Name, "--to-namespace", ns, "--rejoin",
			"--identity-secret", "identity")
		k.at(ctx, "joining again", copies(first), theOperator(), theCopier(first), theArchiver(second), theAgent(second))
		rejoined(ctx, first, second)
		Eventually(done).WithContext(ctx).WithTimeout(time.Minute).Should(BeClosed())
		writer.acknowledges(ctx, 20)
		sum := writer.end()
		kept(ctx, second, sum)
		sameRows(ctx, second, first)
	}, SpecTimeout(12*time.Minute))

	It("change places back through a kill, and lose nothing", func(ctx SpecContext) {
		writer := writeAtSites(ctx, second, first)
		writer.acknowledges(ctx, 20)
		done := again(ctx, ns, "switch-site", second.Name, "--to", first.Name, "--to-namespace", first.Namespace)
		k.at(ctx, "changing back", shows(second, switching), append(parts(second, first), theNode(second))...)
		Eventually(done).WithContext(ctx).WithTimeout(6 * time.Minute).Should(BeClosed())
		Eventually(func() int { return writer.have().other }).WithContext(ctx).WithTimeout(2 * time.Minute).
			Should(BeNumerically(">", 20))
		kept(ctx, first, writer.end())
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, v1alpha1.ReasonAvailable,
			time.Minute)).To(Succeed())
	}, SpecTimeout(9*time.Minute))
})
