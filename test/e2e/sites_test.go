package e2e

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A second site", Ordered, Label(Slow, Faults), func() {
	var first, second *harness.Cluster
	var objects *harness.ObjectStore
	var ns, written, last string

	// caughtUp waits until the second site has what the first one has now, on every node the same, row by row.
	caughtUp := func(ctx SpecContext) {
		GinkgoHelper()
		last = position(ctx, first, first.Name+"-0")
		var err error
		written, err = first.Data().Written(ctx, first.Name+"-0")
		Expect(err).NotTo(HaveOccurred())
		eventually(ctx, func(o Gomega) {
			r := status(ctx, second).Replication
			o.Expect(r.Applied).To(Equal(last), "%+v", r)
			o.Expect(r.Archive).NotTo(BeNil())
			o.Expect(r.Archive.GTID).To(Equal(last), "%+v", r.Archive)
		})
		for _, pod := range podNames(ctx, second) {
			Expect(second.Data().Written(ctx, pod)).To(Equal(written), pod)
		}
		progress("%s: %s", last, written)
	}

	// numbered is the number of a GTID.
	numbered := func(gtid string) (n int) {
		GinkgoHelper()
		_, number, _ := strings.Cut(gtid, "-")
		_, number, _ = strings.Cut(number, "-")
		n, err := strconv.Atoi(number)
		Expect(err).NotTo(HaveOccurred(), gtid)
		return n
	}

	BeforeAll(func(ctx SpecContext) {
		first, objects = archivedCluster(ctx, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 1 })
		ns = newSite(ctx, first, objects)
	}, NodeTimeout(9*time.Minute))

	It("follows the archive row by row, and accepts no write", func(ctx SpecContext) {
		start := time.Now()
		w := startWriter(ctx, first, harness.WriterOptions{Interval: 50 * time.Millisecond})
		second = create(ctx, standbyOf(ctx, first, ns))
		follows(ctx, second)
		stopAndCheck(ctx, w, start)
		caughtUp(ctx)
		cl := client(ctx, second)
		Expect(cl.Exec(ctx, "standby-primary", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON e2e.* TO app")).
			To(Succeed())
		for _, pod := range podNames(ctx, second) {
			_, err := cl.As("app", nil).WithPassword("app").QueryPod(ctx, pod, "CREATE TABLE e2e.mine (id INT PRIMARY KEY)")
			Expect(err).To(MatchError(ContainSubstring("read-only")), pod)
		}
	}, SpecTimeout(9*time.Minute))

	It("streams what is not archived, and goes on with the archive while it is cut off", func(ctx SpecContext) {
		endpoint := streamTo(ctx, first, second)
		streams := func(want bool) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				s := status(ctx, second).Replication.Stream
				g.Expect(s).NotTo(BeNil())
				g.Expect(s.Connected).To(Equal(want), "%+v", s)
				g.Expect(s.Endpoint).To(Equal(endpoint))
				if want {
					g.Expect(s.Error).To(BeEmpty(), "%+v", s)
				} else {
					g.Expect(s.Error).NotTo(BeEmpty(), "%+v", s)
				}
			}).WithTimeout(3 * time.Minute).WithPolling(time.Second).Should(Succeed())
		}
		streams(true)
		start := time.Now()
		w := startWriter(ctx, first, harness.WriterOptions{Interval: 50 * time.Millisecond})
		Expect(w.WaitForMore(ctx, 20, time.Minute)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })

		By("streaming what the archiver cannot store")
		Expect(kube.Network().CutBetween(ctx, addressesOf(ctx, first.Namespace, "archiver"),
			[]string{objects.PodIP()})).To(Succeed())
		Expect(w.WaitForMore(ctx, 200, time.Minute)).To(Succeed())
		last := position(ctx, first, first.Name+"-0")
		eventually(ctx, func(o Gomega) {
			r := status(ctx, second).Replication
			applied, archived := numbered(r.Applied), numbered(r.Archive.GTID)
			o.Expect(applied).To(BeNumerically(">=", numbered(last)), "%+v", r)
			o.Expect(archived).To(BeNumerically("<", applied), "%+v", r.Archive)
			o.Expect(r.Stream.SecondsBehind).NotTo(BeNil())
		})

		By("going on with the archive while the first site cannot be reached")
		Expect(kube.Network().CutBetween(ctx, addressesOf(ctx, first.Namespace, "database"), addressesOf(ctx, ns, "source"))).
			To(Succeed())
		streams(false)
		stopAndCheck(ctx, w, start)
		caughtUp(ctx)

		By("returning")
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		streams(true)
	}, SpecTimeout(9*time.Minute))

	It("goes on after its source and all of its servers were killed", func(ctx SpecContext) {
		start := time.Now()
		w := startWriter(ctx, first, harness.WriterOptions{Interval: 50 * time.Millisecond})
		Expect(kube.DeleteAllOf(ctx, &corev1.Pod{}, kubeclient.InNamespace(ns), kubeclient.GracePeriodSeconds(0),
			kubeclient.MatchingLabels{v1alpha1.LabelCluster: "standby", "app.kubernetes.io/component": "source"})).To(Succeed())
		Expect(second.Servers().Kill(ctx, podNames(ctx, second)...)).To(Succeed())
		Expect(w.WaitForMore(ctx, 50, recoverTime)).To(Succeed())
		Expect(second.WaitReady(ctx, recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
		caughtUp(ctx)
	}, SpecTimeout(9*time.Minute))

	It("takes over when the first one is lost, with transactions that no other has", func(ctx SpecContext) {
		Expect(written).NotTo(BeEmpty())
		setPause(ctx, first, true)
		archiver := map[string]string{v1alpha1.LabelCluster: first.Name, "app.kubernetes.io/component": "archiver"}
		Expect(kube.DeleteAllOf(ctx, &appsv1.Deployment{}, kubeclient.InNamespace(first.Namespace),
			kubeclient.MatchingLabels(archiver))).To(Succeed())
		eventually(ctx, func(o Gomega) {
			var pods corev1.PodList
			o.Expect(kube.List(ctx, &pods, kubeclient.InNamespace(first.Namespace), kubeclient.MatchingLabels(archiver))).
				To(Succeed())
			o.Expect(pods.Items).To(BeEmpty())
		})
		Expect(client(ctx, first).Exec(ctx, first.Name+"-primary", "CREATE TABLE e2e.lost (id INT PRIMARY KEY)",
			"INSERT INTO e2e.lost VALUES (1)", "INSERT INTO e2e.lost VALUES (2)")).To(Succeed())
		last = position(ctx, first, first.Name+"-0")
		Expect(kube.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace,
			Name: first.Name + "-0"}}, kubeclient.GracePeriodSeconds(0))).To(Succeed())
		var notes bytes.Buffer
		undecided := plugin.New(&notes, &notes)
		undecided.SetArgs([]string{"cutover", "standby", "-n", ns, "--context", kube.Context})
		Expect(undecided.ExecuteContext(ctx)).To(MatchError(ContainSubstring("if it is lost, add --accept-loss")))
		progress("%s", kubectlGalera(ctx, ns, "cutover", "standby", "--accept-loss"))
		Expect(status(ctx, second).Replication.Role).To(Equal(v1alpha1.RoleIndependent))
		for _, pod := range podNames(ctx, second) {
			Expect(second.Data().Written(ctx, pod)).To(Equal(written), pod)
		}
		start := time.Now()
		stopAndCheck(ctx, startWriter(ctx, second, harness.WriterOptions{}), start)
		eventually(ctx, func(o Gomega) {
			err := kube.Get(ctx, kubeclient.ObjectKey{Namespace: ns, Name: "standby-source"}, &appsv1.Deployment{})
			o.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the source: %v", err)
		})
	}, SpecTimeout(6*time.Minute))

	It("keeps the first one from accepting writes when that comes back, and counts what it lacks", func(ctx SpecContext) {
		record := status(ctx, second).Replication.Promotion
		Expect(record).NotTo(BeNil())
		lacks := sequence(last) - sequence(record.GTID)
		Expect(lacks).To(BeNumerically(">=", 3), "%s after %s", last, record.GTID)
		setPause(ctx, first, false)
		eventually(ctx, func(o Gomega) {
			s := status(ctx, first)
			o.Expect(s.Superseded).NotTo(BeNil())
			o.Expect(s.Superseded.ID).To(Equal(record.ID))
			o.Expect(s.Superseded.Surplus).To(HaveValue(BeNumerically(">=", lacks)), "%+v", s.Superseded)
		})
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSuperseded,
			time.Minute)).To(Succeed())
		Expect(first.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionFalse, v1alpha1.ReasonSuperseded,
			time.Minute)).To(Succeed())
		cl, pod := client(ctx, first), first.Name+"-0"
		Expect(cl.Exec(ctx, first.Name+"-primary", "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'app'",
			"GRANT ALL ON e2e.* TO app")).To(Succeed())
		write := func() error {
			_, err := cl.As("app", nil).WithPassword("app").QueryPod(ctx, pod, "REPLACE INTO e2e.lost VALUES (3) RETURNING id")
			return err
		}
		Expect(write()).To(MatchError(ContainSubstring("read-only")))
		Expect(first.Servers().Kill(ctx, pod)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(write()).To(MatchError(ContainSubstring("read-only")))
		})
		Expect(first.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.OverrulesPromotion = record.ID })).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(write()).To(Succeed())
			o.Expect(status(ctx, first).Superseded).To(BeNil())
		})
		Expect(kube.Delete(ctx, &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace,
			Name: first.Name}})).To(Succeed())
	}, SpecTimeout(9*time.Minute))

	It("goes on accepting writes when its status is lost", func(ctx SpecContext) {
		start, gtid := time.Now(), status(ctx, second).Replication.Promotion.GTID
		w := startWriter(ctx, second, harness.WriterOptions{})
		Expect(harness.LoseStatus(ctx, second)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			r := status(ctx, second).Replication
			o.Expect(r).NotTo(BeNil())
			o.Expect(r.Role).To(Equal(v1alpha1.RoleIndependent))
			o.Expect(r.AcceptsAfter).To(Equal(gtid))
		})
		stopAndCheck(ctx, w, start)
		cl := client(ctx, second)
		for _, pod := range podNames(ctx, second) {
			Expect(cl.QueryPod(ctx, pod, "SELECT @@GLOBAL.read_only")).To(Equal("0"), pod)
		}
		Expect(w.Errors()).To(BeEmpty())
	}, SpecTimeout(3*time.Minute))

	It("is archived itself, restored at a time, and followed", func(ctx SpecContext) {
		cl, archived := client(ctx, second), func() string {
			GinkgoHelper()
			last := position(ctx, second, "standby-0")
			eventually(ctx, func(o Gomega) { o.Expect(status(ctx, second).Backup.ArchivedGTID).To(Equal(last)) })
			return last
		}
		Expect(second.Change(ctx, func(c *v1alpha1.GaleraCluster) {
			c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
				PointInTime: &v1alpha1.PointInTime{Enabled: true, Interval: &metav1.Duration{Duration: 2 * time.Second}}}
		})).To(Succeed())
		Expect(second.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
			v1alpha1.ReasonArchiving, archiveTime+backupTime)).To(Succeed())
		Expect(second.Change(ctx, func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf = nil })).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, second, harness.WriterOptions{Interval: 50 * time.Millisecond})
		Expect(second.WaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "", upgradeTime)).To(Succeed())
		Expect(second.WaitHealthy(ctx, upgradeTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
		written, err := second.Data().Written(ctx, "standby-0")
		Expect(err).NotTo(HaveOccurred())
		Expect(cl.Exec(ctx, "standby-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.points (id INT PRIMARY KEY, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6))",
			"INSERT INTO kept.points (id) VALUES (1)")).To(Succeed())
		var between time.Time
		eventually(ctx, func(o Gomega) {
			at, err := cl.QueryPod(ctx, "standby-0", "SELECT IF(NOW(6) > at + INTERVAL 3 SECOND, "+
				"UNIX_TIMESTAMP(at) DIV 1 + 2, 0) FROM kept.points WHERE id = 1")
			o.Expect(err).NotTo(HaveOccurred())
			seconds, err := strconv.ParseInt(at, 10, 64)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(seconds).NotTo(BeZero())
			between = time.Unix(seconds, 0)
		})
		Expect(cl.Exec(ctx, "standby-primary", "INSERT INTO kept.points (id) VALUES (2)")).To(Succeed())
		last := archived()
		for _, pod := range podNames(ctx, second) {
			Expect(position(ctx, second, pod)).To(Equal(last), pod)
		}
		Expect(status(ctx, second).Backup.Chain).To(BeEquivalentTo(1), status(ctx, second).Backup.Gap)

		from := sampleCluster(ns)
		from.Name, from.Spec.Replicas = "attime", 1
		from.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			PointInTime: &v1alpha1.RestorePoint{Time: between.UTC().Format(time.RFC3339)},
			Store:       &v1alpha1.BootstrapStore{Name: "offsite", Cluster: "standby"}}
		third := sampleCluster(ns)
		third.Name, third.Spec.Replicas = "third", 1
		third.Spec.ReplicaOf = &v1alpha1.ReplicaOf{StoreRef: v1alpha1.LocalName{Name: "offsite"},
			Cluster:           v1alpha1.ReplicatedCluster{Namespace: ns, Name: "standby"},
			IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"}}
		restored, follower := create(ctx, from), create(ctx, third)
		for c, points := range map[*harness.Cluster]string{restored: "1", follower: "1,2"} {
			Expect(c.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
			eventually(ctx, func(o Gomega) {
				have, err := client(ctx, c).QueryPod(ctx, c.Name+"-0", "SELECT GROUP_CONCAT(id ORDER BY id) FROM kept.points")
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(have).To(Equal(points))
			})
			Expect(c.Data().Written(ctx, c.Name+"-0")).To(Equal(written), c.Name)
		}
		old := status(ctx, second).Replication.Applied
		eventually(ctx, func(o Gomega) {
			o.Expect(strings.Split(status(ctx, follower).Replication.Applied, ",")).To(ConsistOf(old, last))
		})
		progress("%s, restored and followed: %s", last, written)
	}, SpecTimeout(9*time.Minute))
})

// sequence is the number of a GTID.
func sequence(gtid string) int64 {
	GinkgoHelper()
	n, err := strconv.ParseInt(gtid[strings.LastIndex(gtid, "-")+1:], 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return n
}
