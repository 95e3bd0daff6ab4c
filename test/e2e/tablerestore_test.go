package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A table that was lost", Ordered, Label(Slow, Faults), func() {
	var shop *harness.Cluster
	var before, sum, people string // the last transaction before the loss, and what the tables held then

	BeforeAll(func(ctx SpecContext) {
		shop, _ = archivedCluster(ctx)
		cl := client(ctx, shop)
		Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE DATABASE kept", "CREATE DATABASE found",
			"CREATE TABLE kept.people (id INT PRIMARY KEY, v TEXT)", "INSERT INTO kept.people VALUES (1, 'Ann'), (2, 'Bob')",
			"CREATE TABLE kept.t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT, person INT DEFAULT 1, "+
				"FOREIGN KEY (person) REFERENCES kept.people (id))",
			"INSERT INTO kept.t (v) SELECT SHA1(seq) FROM kept.seq_1_to_20000",
			"DELETE FROM kept.t WHERE id % 7 = 0")).To(Succeed())
		before = position(ctx, shop, shop.Name+"-0")
		sum, people = tableSum(ctx, shop, shop.Name+"-0", "kept.t"), tableSum(ctx, shop, shop.Name+"-0", "kept.people")
		Expect(cl.Exec(ctx, shop.Name+"-primary", "UPDATE kept.t SET v = 'wrong'", "DROP TABLE kept.t",
			"CREATE TABLE kept.t (id INT PRIMARY KEY, v TEXT)", "INSERT INTO kept.t VALUES (1, 'new')")).To(Succeed())
		last := position(ctx, shop, shop.Name+"-0")
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, shop).Backup.ArchivedGTID).To(Equal(last)) })
	}, NodeTimeout(9*time.Minute))

	It("comes back row by row, next to the one that has its name, and so does its database", func(ctx SpecContext) {
		living := tableSum(ctx, shop, shop.Name+"-0", "kept.t")
		out := kubectlGalera(ctx, shop.Namespace, "restore", shop.Name, "--table", "kept.t", "--gtid", before, "--into",
			"found", "--as", "t_before", "--identity", "identity", "--name", "lost", "--wait", "--timeout", "5m")
		progress("%s", out)
		for _, pod := range podNames(ctx, shop) {
			Expect(tableSum(ctx, shop, pod, "found.t_before")).To(Equal(sum), pod)
			Expect(tableSum(ctx, shop, pod, "kept.t")).To(Equal(living), pod)
		}
		lost := restoreOf(ctx, shop, "lost")
		Expect(lost.Status.LeftOut).To(ConsistOf(HavePrefix("foreign key t.")))
		kubectlGalera(ctx, shop.Namespace, "restore", shop.Name, "--database", "kept", "--gtid", before, "--as",
			"kept_before", "--identity", "identity", "--name", "all", "--wait", "--timeout", "5m")
		for _, pod := range podNames(ctx, shop) {
			Expect(tableSum(ctx, shop, pod, "kept_before.t")).To(Equal(sum), pod)
			Expect(tableSum(ctx, shop, pod, "kept_before.people")).To(Equal(people), pod)
		}
		_, err := client(ctx, shop).QueryPod(ctx, shop.Name+"-0", "INSERT INTO kept_before.t (v, person) VALUES ('x', 77)")
		Expect(err).To(MatchError(ContainSubstring("foreign key constraint fails")))
		expectNothingLeft(ctx, shop)
	}, SpecTimeout(9*time.Minute))

	It("never takes a name that is taken, nor a table that was not there", Label(Input), func(ctx SpecContext) {
		for name, c := range map[string]struct{ table, as, reason string }{
			"taken": {"t", "people", v1alpha1.ReasonTargetExists}, "absent": {"nothing", "x", v1alpha1.ReasonTableNotFound},
		} {
			o := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: name}}
			o.Spec.ClusterRef.Name = shop.Name
			o.Spec.From = v1alpha1.RestoreSource{Store: &v1alpha1.BootstrapStore{Name: "offsite"},
				IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"}, PointInTime: &v1alpha1.RestorePoint{GTID: before}}
			o.Spec.Table = &v1alpha1.RestoreTable{Database: "kept", Name: v1alpha1.TableName(c.table),
				As: v1alpha1.TableName(c.as)}
			Expect(kube.Create(ctx, o)).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				have := restoreOf(ctx, shop, name)
				g.Expect(have.Status.Phase).To(Equal(v1alpha1.RestoreFailed))
				g.Expect(have.Status.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionStalled),
					HaveField("Reason", c.reason))))
			}).WithTimeout(backupTime).WithPolling(time.Second).Should(Succeed())
		}
		Expect(tableSum(ctx, shop, shop.Name+"-0", "kept.people")).To(Equal(people))
		expectNothingLeft(ctx, shop)
	}, SpecTimeout(9*time.Minute))
})

func restoreOf(ctx context.Context, c *harness.Cluster, name string) *v1alpha1.GaleraRestore {
	GinkgoHelper()
	o := &v1alpha1.GaleraRestore{}
	Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: c.Namespace, Name: name}, o)).To(Succeed())
	return o
}

// expectNothingLeft: what a load has used goes with its end: the account, the database, the Job and its volume.
func expectNothingLeft(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		left, err := client(ctx, c).QueryPod(ctx, c.Name+"-0", "SELECT CONCAT((SELECT COUNT(*) FROM "+
			"information_schema.schemata WHERE schema_name LIKE 'galera_operator_restore%'), ' databases, ', "+
			"(SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'galera_operator_restore%'), ' accounts')")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left).To(Equal("0 databases, 0 accounts"))
		var jobs batchv1.JobList
		g.Expect(kube.List(ctx, &jobs, kubeclient.InNamespace(c.Namespace),
			kubeclient.HasLabels{v1alpha1.LabelRestore})).To(Succeed())
		g.Expect(jobs.Items).To(BeEmpty())
	}).WithTimeout(backupTime).WithPolling(time.Second).Should(Succeed())
}
