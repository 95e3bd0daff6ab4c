package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

	It("comes back with its database into what a restore that failed has left", func(ctx SpecContext) {
		database := func(name, from string) {
			GinkgoHelper()
			o := lostTable(shop, name, before, "", "")
			o.Spec.Table, o.Spec.Database = nil, &v1alpha1.RestoreDatabase{Name: v1alpha1.DatabaseName(from), As: "again"}
			Expect(kube.Create(ctx, o)).To(Succeed())
		}
		database("failing", "nothing")
		Eventually(ctx, func(g Gomega) {
			var jobs batchv1.JobList
			g.Expect(kube.List(ctx, &jobs, kubeclient.InNamespace(shop.Namespace), kubeclient.MatchingLabels{
				v1alpha1.LabelRestore: "failing"}, kubeclient.HasLabels{v1alpha1.LabelRestoreTarget})).To(Succeed())
			g.Expect(jobs.Items).To(HaveLen(1))
		}).WithTimeout(backupTime).WithPolling(300 * time.Millisecond).Should(Succeed())
		database("second", "kept") // it waits until nothing of the first can name a table there
		Eventually(ctx, func(g Gomega) {
			failed, second := restoreOf(ctx, shop, "failing"), restoreOf(ctx, shop, "second")
			g.Expect(failed.Status.Phase).To(Equal(v1alpha1.RestoreFailed), "%+v", failed.Status)
			g.Expect(failed.Status.Conditions).To(ContainElement(HaveField("Reason", v1alpha1.ReasonTableNotFound)))
			g.Expect(second.Status.Phase).To(Equal(v1alpha1.RestoreCompleted), "%+v", second.Status)
		}).WithTimeout(2 * backupTime).WithPolling(time.Second).Should(Succeed())
		for _, pod := range podNames(ctx, shop) {
			Expect(tableSum(ctx, shop, pod, "again.t")).To(Equal(sum), pod)
			Expect(tableSum(ctx, shop, pod, "again.people")).To(Equal(people), pod)
		}
		expectNothingLeft(ctx, shop)
	}, SpecTimeout(9*time.Minute))

	It("never takes a name that is taken, nor a table that was not there", Label(Input), func(ctx SpecContext) {
		for name, c := range map[string]struct{ table, as, reason string }{
			"taken": {"t", "people", v1alpha1.ReasonTargetExists}, "absent": {"nothing", "x", v1alpha1.ReasonTableNotFound},
		} {
			Expect(kube.Create(ctx, lostTable(shop, name, before, c.table, c.as))).To(Succeed())
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

var _ = Describe("A load of a table that is cut off", Ordered, Label(Slow, Faults, AtRest), func() {
	var shop *harness.Cluster // encrypted at rest
	var before, sum string

	BeforeAll(func(ctx SpecContext) {
		shop, _ = archivedCluster(ctx, atRest)
		fill := []string{"CREATE DATABASE kept",
			"CREATE TABLE kept.t (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(40), KEY (v))"}
		for range 8 {
			fill = append(fill, "INSERT INTO kept.t (v) SELECT SHA1(seq) FROM kept.seq_1_to_50000")
		}
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", fill...)).To(Succeed())
		before, sum = position(ctx, shop, shop.Name+"-0"), tableSum(ctx, shop, shop.Name+"-0", "kept.t")
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "TRUNCATE kept.t",
			"INSERT INTO kept.t (v) VALUES ('new')")).To(Succeed())
		last := position(ctx, shop, shop.Name+"-0")
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, shop).Backup.ArchivedGTID).To(Equal(last)) })
	}, NodeTimeout(6*time.Minute))

	// begin creates a restore, and waits until its load has begun. The final name is not there yet.
	begin := func(ctx context.Context, name string) *v1alpha1.GaleraRestore {
		GinkgoHelper()
		o := lostTable(shop, name, before, "t", "t_"+name)
		Expect(kube.Create(ctx, o)).To(Succeed())
		waitForLoad(ctx, shop, o, 1)
		return o
	}

	It("is begun anew after its Job, the operator and the primary were killed", func(ctx SpecContext) {
		o := begin(ctx, "cut")
		Expect(kube.DeleteAllOf(ctx, &corev1.Pod{}, kubeclient.InNamespace(shop.Namespace),
			kubeclient.MatchingLabels{v1alpha1.LabelRestore: o.Name}, kubeclient.GracePeriodSeconds(0))).To(Succeed())
		eventually(ctx, func(g Gomega) { g.Expect(kube.Operator().Kill(ctx)).To(Succeed()) })
		waitForLoad(ctx, shop, o, 2)
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Servers().Kill(ctx, primary)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			have := restoreOf(ctx, shop, o.Name)
			g.Expect(have.Status.Phase).To(Equal(v1alpha1.RestoreCompleted), "%+v", have.Status)
			g.Expect(have.Status.Attempts).To(BeNumerically(">", 2))
		}).WithTimeout(2 * backupTime).WithPolling(time.Second).Should(Succeed())
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		for _, pod := range podNames(ctx, shop) {
			Expect(tableSum(ctx, shop, pod, "kept.t_cut")).To(Equal(sum), pod)
			Expect(tableSum(ctx, shop, pod, "kept.t")).To(HavePrefix("1 rows"), pod)
		}
		expectNothingLeft(ctx, shop)
	}, SpecTimeout(9*time.Minute))

	It("leaves nothing when the GaleraRestore is deleted", func(ctx SpecContext) {
		o := begin(ctx, "dropped")
		Expect(kube.Delete(ctx, o)).To(Succeed())
		expectNothingLeft(ctx, shop)
		Expect(client(ctx, shop).QueryPod(ctx, shop.Name+"-0", "SELECT GROUP_CONCAT(table_name ORDER BY 1) FROM "+
			"information_schema.tables WHERE table_schema = 'kept'")).To(Equal("t,t_cut"))
		for _, l := range []kubeclient.ObjectList{&v1alpha1.GaleraUserList{}, &v1alpha1.GaleraDatabaseList{},
			&corev1.PersistentVolumeClaimList{}} {
			eventually(ctx, func(g Gomega) {
				g.Expect(kube.List(ctx, l, kubeclient.InNamespace(shop.Namespace))).To(Succeed())
				g.Expect(meta.EachListItem(l, func(have runtime.Object) error {
					if name := have.(kubeclient.Object).GetName(); strings.HasPrefix(name, o.Name+"-") {
						return fmt.Errorf("there is the %T %s", have, name)
					}
					return nil
				})).To(Succeed())
			})
		}
	}, SpecTimeout(5*time.Minute))
})

// lostTable is a restore of a table of the database kept.
func lostTable(c *harness.Cluster, name, gtid, table, as string) *v1alpha1.GaleraRestore {
	o := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
	o.Spec.ClusterRef.Name = c.Name
	o.Spec.From = v1alpha1.RestoreSource{Store: &v1alpha1.BootstrapStore{Name: "offsite"},
		IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"}, PointInTime: &v1alpha1.RestorePoint{GTID: gtid}}
	o.Spec.Table = &v1alpha1.RestoreTable{Database: "kept", Name: v1alpha1.TableName(table), As: v1alpha1.TableName(as)}
	return o
}

// waitForLoad waits until the Job that loads for the nth time has begun to write; the final name is not there yet.
func waitForLoad(ctx context.Context, c *harness.Cluster, o *v1alpha1.GaleraRestore, nth int) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		have := restoreOf(ctx, c, o.Name)
		g.Expect(have.Status.Phase).To(Equal(v1alpha1.RestoreLoading), "%+v", have.Status)
		seen, err := client(ctx, c).QueryPod(ctx, c.Name+"-0", "SELECT CONCAT((SELECT COUNT(*) FROM "+
			"information_schema.tables WHERE table_schema LIKE 'galera_operator_restore%' AND table_name LIKE ?), "+
			"' loaded, ', (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'kept' AND table_name = ?), "+
			"' named')", fmt.Sprintf("r%d\\_%%", nth+1), string(o.Spec.Table.As)) // attempt 1 looks for the backup
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(seen).To(Equal("1 loaded, 0 named"))
	}).WithTimeout(backupTime).WithPolling(300 * time.Millisecond).Should(Succeed())
}

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
		for _, l := range []kubeclient.ObjectList{&corev1.SecretList{}, &networkingv1.NetworkPolicyList{}} {
			g.Expect(kube.List(ctx, l, kubeclient.InNamespace(c.Namespace),
				kubeclient.HasLabels{v1alpha1.LabelRestore})).To(Succeed())
			g.Expect(meta.LenList(l)).To(BeZero(), "%T", l)
		}
	}).WithTimeout(backupTime).WithPolling(time.Second).Should(Succeed())
}
