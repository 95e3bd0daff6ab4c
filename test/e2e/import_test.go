package e2e

import (
	"context"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("An import of a database of another server", Ordered, Label(Slow, Faults), func() {
	var ns string
	var old *harness.ForeignServer
	var shop *harness.Cluster
	const sum = "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v)))) FROM "

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx, "import")
		var err error
		Expect(harness.LoadOld(ctx)).To(Succeed())
		old, err = harness.StartForeignServer(ctx, kube, ns, harness.OldImage)
		Expect(err).NotTo(HaveOccurred())
		Expect(old.Exec(ctx, "CREATE DATABASE crm", "CREATE DATABASE other", "CREATE TABLE other.t (id INT) ENGINE=MyISAM",
			"CREATE TABLE crm.people (id INT PRIMARY KEY, v CHAR(64))", "INSERT INTO crm.people VALUES (1, 'Ann'), (2, 'Bob')",
			"CREATE TABLE crm.orders (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(64), person INT DEFAULT 1, "+
				"FOREIGN KEY (person) REFERENCES crm.people (id))",
			"CREATE TABLE crm.bare (id INT) ENGINE=InnoDB", "CREATE VIEW crm.dear AS SELECT * FROM crm.people",
			"CREATE USER mover IDENTIFIED BY 'secret'",
			"GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO mover")).To(Succeed())
		for from := 1; from < 600000; from += 200000 {
			Expect(old.Exec(ctx, "INSERT INTO crm.orders (id, v) SELECT seq + "+strconv.Itoa(from-1)+
				", SHA1(seq) FROM crm.seq_1_to_200000")).To(Succeed())
		}
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"},
			StringData: map[string]string{"username": "mover", "password": "secret"}})).To(Succeed())
		shop = create(ctx, sampleCluster(ns))
		Expect(shop.WaitReady(ctx, 5*time.Minute)).To(Succeed())
	}, NodeTimeout(9*time.Minute))

	It("is refused by name, goes on when that is corrected, though its pod is killed, and is the source row by row",
		func(ctx SpecContext) {
			o := importOf(shop, "crm", old)
			o.Spec.Database = &v1alpha1.RestoreDatabase{Name: "crm", As: "crm"}
			o.Spec.From.External.RateLimit = new(resource.MustParse("3Mi")) // long enough for its progress to be seen
			Expect(kube.Create(ctx, o)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(restoreOf(ctx, shop, "crm").Status.Conditions).To(ContainElement(And(HaveField("Type",
					v1alpha1.ConditionStalled), HaveField("Reason", v1alpha1.ReasonSourceUnsuitable),
					HaveField("Message", ContainSubstring("PrimaryKeyMissing: crm.bare")))))
			}).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Succeed())
			var users v1alpha1.GaleraUserList
			Expect(kube.List(ctx, &users, kubeclient.InNamespace(ns))).To(Succeed())
			Expect(users.Items).To(BeEmpty(), "an account before the source is known to be good")
			Expect(old.Exec(ctx, "ALTER TABLE crm.bare ADD PRIMARY KEY (id)")).To(Succeed())

			var loading corev1.Pod
			Expect(kube.Until(ctx, "a pod that copies", 4*time.Minute, func(ctx context.Context) (bool, string, error) {
				var pods corev1.PodList
				err := kube.List(ctx, &pods, kubeclient.InNamespace(ns), kubeclient.MatchingLabels{v1alpha1.LabelRestore: "crm"},
					kubeclient.HasLabels{v1alpha1.LabelRestoreTarget})
				if err != nil || len(pods.Items) == 0 || pods.Items[0].Status.Phase != corev1.PodRunning {
					return false, "", err
				}
				loading = pods.Items[0]
				rows, err := client(ctx, shop).QueryPod(ctx, shop.Name+"-0", "SELECT COUNT(*) FROM information_schema.tables "+
					"WHERE table_schema LIKE 'galera_operator_restore%' AND table_name LIKE 'r%'")
				return err == nil && rows == "3", rows, err
			})).To(Succeed())
			Expect(kube.Delete(ctx, &loading, kubeclient.GracePeriodSeconds(0))).To(Succeed())

			var copied v1alpha1.CopyProgress
			Eventually(ctx, func(g Gomega) {
				have := restoreOf(ctx, shop, "crm")
				if p := have.Status.Progress; p != nil && p.Rows > 0 {
					copied = *p
				}
				g.Expect(have.Status.Phase).To(Equal(v1alpha1.RestoreCompleted), "%+v", have.Status)
			}).WithTimeout(5 * time.Minute).WithPolling(time.Second).Should(Succeed())
			Expect(copied.Rows).To(BeNumerically(">", 0), "no progress was seen")
			Expect(copied.Tables).To(BeEquivalentTo(3))
			Expect(restoreOf(ctx, shop, "crm").Status.Progress).To(BeNil())
			for _, table := range []string{"crm.orders", "crm.people"} {
				var want string
				Expect(old.DB.QueryRowContext(ctx, sum+table).Scan(&want)).To(Succeed())
				for _, pod := range podNames(ctx, shop) {
					Expect(client(ctx, shop).QueryPod(ctx, pod, "SET STATEMENT wsrep_sync_wait = 1 FOR "+sum+table)).
						To(Equal(want), pod)
				}
			}
			_, err := client(ctx, shop).QueryPod(ctx, shop.Name+"-0", "INSERT INTO crm.orders (v, person) VALUES ('x', 77)")
			Expect(err).To(MatchError(ContainSubstring("foreign key constraint fails")))
			var left string
			Expect(old.DB.QueryRowContext(ctx, "SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM information_schema.tables "+
				"WHERE table_schema = 'crm'").Scan(&left)).To(Succeed())
			Expect(left).To(Equal("bare,dear,orders,people"))
			s := restoreOf(ctx, shop, "crm").Status
			Expect(s.LeftOut).To(ConsistOf("view dear"))
			Expect(s.Tables).To(BeEquivalentTo(3))
			Expect(s.Rows).To(BeEquivalentTo(600002))
			Expect(s.External.Plaintext).To(BeTrue())
			Expect(s.External.GTID).To(HavePrefix("3-7-"))
			Expect(s.External.LockedMilliseconds).To(BeNumerically("<", 1000))
			expectNothingLeft(ctx, shop)
		}, SpecTimeout(9*time.Minute))

	It("takes one table, and no name that is taken", Label(Input), func(ctx SpecContext) {
		for name, as := range map[string]v1alpha1.TableName{"people": "people_of_old", "taken": "orders"} {
			o := importOf(shop, name, old)
			o.Spec.Table = &v1alpha1.RestoreTable{Database: "crm", Name: "people", As: as}
			Expect(kube.Create(ctx, o)).To(Succeed())
		}
		Eventually(ctx, func(g Gomega) {
			people, taken := restoreOf(ctx, shop, "people").Status, restoreOf(ctx, shop, "taken").Status
			g.Expect(people.Phase).To(Equal(v1alpha1.RestoreCompleted), "%+v", people)
			g.Expect(people.Rows).To(BeEquivalentTo(2))
			g.Expect(taken.Phase).To(Equal(v1alpha1.RestoreFailed), "%+v", taken)
			g.Expect(taken.Conditions).To(ContainElement(HaveField("Reason", v1alpha1.ReasonTargetExists)))
		}).WithTimeout(4 * time.Minute).WithPolling(time.Second).Should(Succeed())
		Expect(client(ctx, shop).QueryPod(ctx, shop.Name+"-0", "SELECT COUNT(*) FROM crm.orders")).To(Equal("600000"))
		expectNothingLeft(ctx, shop)
	}, SpecTimeout(5*time.Minute))

	It("is not needed for a dump, which a Job of one's own loads", func(ctx SpecContext) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "dumps"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Mi")}
		Expect(kube.Create(ctx, claim)).To(Succeed())
		Expect(old.Exec(ctx, "CREATE DATABASE sales", "CREATE TABLE sales.t (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO sales.t SELECT seq, SHA1(seq) FROM crm.seq_1_to_5000")).To(Succeed())
		Expect(old.Dump(ctx, "sales", "dumps", "sales.sql")).To(Succeed())
		applySample(ctx, shop, "load-dump.yaml")
		job := &batchv1.Job{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: ns, Name: "load-sales"}, job)).To(Succeed())
			g.Expect(job.Status.Succeeded+job.Status.Failed).To(BeEquivalentTo(1), "%+v", job.Status)
		}).WithTimeout(2 * time.Minute).WithPolling(time.Second).Should(Succeed())
		Expect(job.Status.Succeeded).To(BeEquivalentTo(1))
		var want string
		Expect(old.DB.QueryRowContext(ctx, sum+"sales.t").Scan(&want)).To(Succeed())
		for _, pod := range podNames(ctx, shop) {
			Expect(client(ctx, shop).QueryPod(ctx, pod, "SET STATEMENT wsrep_sync_wait = 1 FOR "+sum+"sales.t")).
				To(Equal(want), pod)
		}
	}, SpecTimeout(5*time.Minute))
})

// importOf is an import from another server, without what is imported.
func importOf(c *harness.Cluster, name string, from *harness.ForeignServer) *v1alpha1.GaleraRestore {
	o := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
	o.Spec.ClusterRef.Name = c.Name
	o.Spec.From.External = &v1alpha1.RestoreExternal{Host: from.Host, Insecure: true, Connections: 2,
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}}
	return o
}
