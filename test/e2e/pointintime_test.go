package e2e

import (
	"context"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// archiveTime is how long an archive may need to begin, or to catch up.
const archiveTime = 3 * time.Minute

var _ = Describe("A point in time", Ordered, Label(Slow, Faults), func() {
	var shop *harness.Cluster
	var between metav1.Time // after the first point, before the second
	var second, written string

	BeforeAll(func(ctx SpecContext) {
		shop, _ = archivedCluster(ctx)
	}, NodeTimeout(9*time.Minute))

	It("is archived through the death of the archiver, a full transfer, and a crash of all nodes", func(ctx SpecContext) {
		cl := client(ctx, shop)
		Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.points (id INT PRIMARY KEY, at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6))",
			"CREATE TABLE kept.t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)")).To(Succeed())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		By("killing the archiver")
		Expect(kube.DeleteAllOf(ctx, &corev1.Pod{}, kubeclient.InNamespace(shop.Namespace), kubeclient.GracePeriodSeconds(0),
			kubeclient.MatchingLabels{v1alpha1.LabelCluster: shop.Name, "app.kubernetes.io/component": "archiver"})).
			To(Succeed())
		Expect(w.WaitForMore(ctx, 50, recoverTime)).To(Succeed())
		By("having a node take a full transfer")
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		lost := time.Now()
		Expect(shop.Volumes().DeleteClaim(ctx, pod)).To(Succeed())
		_, err = shop.Pods().Delete(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		kind, err := shop.Joins().Wait(ctx, pod, lost, joinTime)
		Expect(err).NotTo(HaveOccurred())
		Expect(kind).To(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		By("killing every server")
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, podNames(ctx, shop)...)).To(Succeed())
		expectRecovery(ctx, shop, w, killed)
		stopAndCheck(ctx, w, start)

		By("making three points that the archive must distinguish")
		Expect(cl.Exec(ctx, shop.Name+"-primary", "INSERT INTO kept.t (v) SELECT SHA1(seq) FROM kept.seq_1_to_1000",
			"INSERT INTO kept.points (id) VALUES (1)")).To(Succeed())
		eventually(ctx, func(o Gomega) {
			passed, err := cl.QueryPod(ctx, shop.Name+"-0",
				"SELECT IF(NOW(6) > at + INTERVAL 3 SECOND, 'later', 'soon') FROM kept.points WHERE id = 1")
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(passed).To(Equal("later"))
		})
		at, err := cl.QueryPod(ctx, shop.Name+"-0", "SELECT UNIX_TIMESTAMP(at) DIV 1 + 2 FROM kept.points WHERE id = 1")
		Expect(err).NotTo(HaveOccurred())
		seconds, err := strconv.ParseInt(at, 10, 64)
		Expect(err).NotTo(HaveOccurred())
		between = metav1.NewTime(time.Unix(seconds, 0))
		Expect(cl.Exec(ctx, shop.Name+"-primary", "INSERT INTO kept.points (id) VALUES (2)")).To(Succeed())
		second = position(ctx, shop, shop.Name+"-0")
		Expect(cl.Exec(ctx, shop.Name+"-primary", "UPDATE kept.t SET v = CONCAT(v, id) WHERE id % 3 = 0",
			"DELETE FROM kept.t WHERE id % 7 = 0",
			"ALTER TABLE kept.t ADD COLUMN w INT DEFAULT 5", "INSERT INTO kept.points (id) VALUES (3)")).To(Succeed())
		last := position(ctx, shop, shop.Name+"-0")
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, shop).Backup.ArchivedGTID).To(Equal(last)) })
		written = tableSum(ctx, shop, shop.Name+"-0", "kept.t")
		for _, p := range podNames(ctx, shop) {
			Expect(position(ctx, shop, p)).To(Equal(last), "the GTIDs of %s", p)
		}
		s := status(ctx, shop).Backup
		Expect(s.Chain).To(BeEquivalentTo(1), "no gap: %s", s.Gap)
		progress("archived through %s, %s, %d segments", s.ArchivedThrough, s.ArchivedGTID, s.Segments)
	}, SpecTimeout(9*time.Minute))

	// restore makes a cluster that begins there.
	restore := func(ctx context.Context, name string, nodes int32, point v1alpha1.RestorePoint) *harness.Cluster {
		GinkgoHelper()
		c := sampleCluster(shop.Namespace)
		c.Name, c.Spec.Replicas = name, nodes
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			PointInTime: &point,
			Store:       &v1alpha1.BootstrapStore{Name: "offsite", Cluster: shop.Name}}
		return create(ctx, c)
	}
	points := func(ctx context.Context, c *harness.Cluster, pod string) string {
		GinkgoHelper()
		have, err := client(ctx, c).QueryPod(ctx, pod, "SELECT GROUP_CONCAT(id ORDER BY id) FROM kept.points")
		Expect(err).NotTo(HaveOccurred())
		return have
	}

	It("is restored to a time between two transactions, and to a transaction", func(ctx SpecContext) {
		Expect(second).NotTo(BeEmpty())
		byTime := restore(ctx, "bytime", 1, v1alpha1.RestorePoint{Time: between.UTC().Format(time.RFC3339)})
		byGTID := create(ctx, printed(ctx, shop, "bygtid", "--gtid", second))
		Expect(byTime.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(points(ctx, byTime, "bytime-0")).To(Equal("1"))
		Expect(byGTID.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(points(ctx, byGTID, "bygtid-0")).To(Equal("1,2"))
		Expect(status(ctx, byGTID).Restore.Replay.Reached).To(Equal(second))
		progress("%s", status(ctx, byTime).Restore.Message)
	}, SpecTimeout(9*time.Minute))

	It("is restored to the latest transaction, on every node the same, row by row", func(ctx SpecContext) {
		Expect(written).NotTo(BeEmpty())
		start := time.Now()
		latest := restore(ctx, "latest", 3, v1alpha1.RestorePoint{Latest: true})
		Expect(latest.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		progress("Ready after %s: %s", time.Since(start).Round(100*time.Millisecond), status(ctx, latest).Restore.Message)
		joins, err := latest.Joins().Since(ctx, start)
		Expect(err).NotTo(HaveOccurred())
		Expect(joins).NotTo(ContainElement("SST"))
		for _, pod := range podNames(ctx, latest) {
			Expect(points(ctx, latest, pod)).To(Equal("1,2,3"), pod)
			Expect(tableSum(ctx, latest, pod, "kept.t")).To(Equal(written), pod)
		}
		start = time.Now()
		stopAndCheck(ctx, startWriter(ctx, latest, harness.WriterOptions{}), start)
	}, SpecTimeout(9*time.Minute))

	It("that the archive does not have is refused, with what it has", Label(Input), func(ctx SpecContext) {
		Expect(second).NotTo(BeEmpty())
		late := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
		expectStalled(ctx, restore(ctx, "toolate", 1, v1alpha1.RestorePoint{Time: late.UTC().Format(time.RFC3339)}),
			v1alpha1.ReasonPointInTimeUnavailable, "what can be restored is from")
		early := metav1.NewTime(time.Now().Add(-24 * time.Hour).Truncate(time.Second))
		expectStalled(ctx, restore(ctx, "tooearly", 1, v1alpha1.RestorePoint{Time: early.UTC().Format(time.RFC3339)}),
			v1alpha1.ReasonPointInTimeUnavailable, "is not before it")
		var claims corev1.PersistentVolumeClaimList
		Expect(kube.List(ctx, &claims, kubeclient.InNamespace(shop.Namespace))).To(Succeed())
		for _, c := range claims.Items {
			Expect(c.Name).NotTo(Or(HavePrefix("data-toolate"), HavePrefix("data-tooearly")), "a volume was made")
		}
	}, SpecTimeout(6*time.Minute))
})

// printed is a cluster of one node that `kubectl galera restore --dry-run` goes back to a point with.
func printed(ctx context.Context, of *harness.Cluster, name string, point ...string) *v1alpha1.GaleraCluster {
	GinkgoHelper()
	text := kubectlGalera(ctx, of.Namespace,
		append([]string{"restore", name, "--store", "offsite", "--from-cluster", of.Name, "--identity", "identity", "--like",
			of.Name, "--dry-run"}, point...)...)
	c := &v1alpha1.GaleraCluster{}
	Expect(yaml.UnmarshalStrict([]byte(text), c)).To(Succeed())
	c.Spec.Replicas, c.Spec.Backup = 1, nil
	return c
}

// position is the GTID of the cluster's last transaction, on a node that has all of them. What a node has written for
// itself has another domain.
func position(ctx context.Context, c *harness.Cluster, pod string) string {
	GinkgoHelper()
	all, err := client(ctx, c).QueryPod(ctx, pod,
		"SET STATEMENT wsrep_sync_wait = 1 FOR SELECT CONCAT(@@wsrep_gtid_domain_id, '-,', @@gtid_binlog_pos)")
	Expect(err).NotTo(HaveOccurred())
	domain, all, _ := strings.Cut(all, ",")
	for _, gtid := range strings.Split(all, ",") {
		if strings.HasPrefix(gtid, domain) {
			return gtid
		}
	}
	Fail("no GTID of the cluster in " + all)
	return ""
}
