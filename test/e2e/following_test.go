package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A cluster that follows another server", Ordered, Label(Slow, Faults), func() {
	var ns string
	var old *harness.ForeignServer
	var c *harness.Cluster
	var writer sync.WaitGroup
	var written int
	stop := make(chan struct{})
	const sum = "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v))), ' ', (SELECT n FROM shop.counter)) FROM " +
		"shop.t"

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx, "following")
		var err error
		Expect(harness.LoadOld(ctx)).To(Succeed())
		old, err = harness.StartForeignServer(ctx, kube, ns, harness.OldImage)
		Expect(err).NotTo(HaveOccurred())
		Expect(old.Exec(ctx, "SET GLOBAL binlog_format = 'ROW'", "SET SESSION binlog_format = 'ROW'", "CREATE DATABASE shop",
			"CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(64))", "CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT)",
			"INSERT INTO shop.counter VALUES (1, 0)", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON shop.* TO app",
			"CREATE USER mover IDENTIFIED BY 'secret'",
			"GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT, REPLICATION SLAVE, BINLOG MONITOR, READ_ONLY ADMIN ON *.* "+
				"TO mover")).To(Succeed())
		app, err := old.As("app", "app")
		Expect(err).NotTo(HaveOccurred())
		writer.Go(func() { // an application: it ends when the server refuses its writes
			ctx := context.Background()
			for ; ; written++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				if err := insert(ctx, app, written+1); err != nil {
					return
				}
			}
		})
		DeferCleanup(func() {
			close(stop)
			writer.Wait()
		})
	}, NodeTimeout(5*time.Minute))

	It("goes on with what the source writes, and accepts no write", func(ctx SpecContext) {
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"},
			StringData: map[string]string{"username": "mover", "password": "secret"}})).To(Succeed())
		wanted := sampleCluster(ns)
		wanted.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: old.Host,
			CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}, Insecure: true, Users: true, Follow: true}}
		c = create(ctx, wanted)
		Expect(c.WaitReady(ctx, 6*time.Minute)).To(Succeed())
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
			2*time.Minute)).To(Succeed())
		cl := client(ctx, c).As("app", nil).WithPassword("app")
		for _, pod := range podNames(ctx, c) {
			_, err := cl.QueryPod(ctx, pod, "DELETE FROM shop.t")
			Expect(err).To(MatchError(ContainSubstring("read-only")))
		}
	}, SpecTimeout(9*time.Minute))

	It("goes on when the node of the channel is lost", func(ctx SpecContext) {
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		node := have.Status.Replication.Node
		Expect(kube.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: node}},
			kubeclient.GracePeriodSeconds(0))).To(Succeed())
		Expect(kube.Until(ctx, "another node with the channel", 2*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				have, err := c.Get(ctx)
				return err == nil && have.Status.Replication.Node != "" && have.Status.Replication.Node != node, "", err
			})).To(Succeed())
		Expect(c.WaitReady(ctx, 3*time.Minute)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("accepts writes after the cutover, and has every row on every node", func(ctx SpecContext) {
		progress("%s", kubectlGalera(ctx, ns, "cutover", c.Name))
		writer.Wait()
		var want string
		Expect(old.DB.QueryRowContext(ctx, sum).Scan(&want)).To(Succeed())
		Expect(want).To(HavePrefix(fmt.Sprint(written, " ")))
		cl := client(ctx, c)
		for _, pod := range podNames(ctx, c) {
			Expect(cl.QueryPod(ctx, pod, sum)).To(Equal(want))
		}
		app := cl.As("app", nil).WithPassword("app")
		Expect(app.Exec(ctx, c.Name+"-primary", "INSERT INTO shop.t VALUES (0, 'new')")).To(Succeed())
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(have.Status.Replication.Role).To(Equal(v1alpha1.RoleIndependent))
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, v1alpha1.ReasonAvailable,
			time.Minute)).To(Succeed())
	}, SpecTimeout(4*time.Minute))
})

// insert writes a row and counts it, in one transaction.
func insert(ctx context.Context, db *sql.DB, id int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO shop.t VALUES (%d, SHA1(%d))", id, id)); err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE shop.counter SET n = n + 1")
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
