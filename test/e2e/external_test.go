package e2e

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A copy of another server", Ordered, Label(Slow, Faults), func() {
	var ns string
	var old *harness.ForeignServer
	var c *harness.Cluster

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx, "moved")
		var err error
		Expect(harness.LoadOld(ctx)).To(Succeed())
		old, err = harness.StartForeignServer(ctx, kube, ns, harness.OldImage)
		Expect(err).NotTo(HaveOccurred())
		Expect(old.Exec(ctx, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(64))",
			"CREATE TABLE shop.log (id INT) ENGINE=MyISAM", "CREATE TABLE shop.bare (id INT) ENGINE=InnoDB",
			"SET GLOBAL sql_mode = ''", "CREATE USER app IDENTIFIED BY 'app''s'", "GRANT SELECT, INSERT ON shop.* TO app",
			"CREATE USER mover IDENTIFIED BY 'secret'",
			"GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO mover")).To(Succeed())
		for from := 1; from < 2000000; from += 200000 {
			Expect(old.Exec(ctx, "INSERT INTO shop.t SELECT seq + "+strconv.Itoa(from-1)+
				", SHA1(seq) FROM shop.seq_1_to_200000")).To(Succeed())
		}
		Expect(old.Exec(ctx, "ANALYZE TABLE shop.t")).To(Succeed())
	}, NodeTimeout(5*time.Minute))

	It("is refused by name, before there is a volume", Label(Input), func(ctx SpecContext) {
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"},
			StringData: map[string]string{"username": "mover", "password": "secret"}})).To(Succeed())
		var screen bytes.Buffer
		check := plugin.New(&screen, &screen)
		check.SetArgs(append(importCheck(old), "-n", ns, "--context", kube.Context))
		Expect(check.ExecuteContext(ctx)).To(MatchError(ContainSubstring("2 findings")))
		Expect(screen.String()).To(And(ContainSubstring("EngineNotReplicated  shop.log (MyISAM)"),
			ContainSubstring("PrimaryKeyMissing  shop.bare")))

		c = create(ctx, copyOf(old, ns, false))
		expectStalled(ctx, c, v1alpha1.ReasonSourceUnsuitable, "EngineNotReplicated: shop.log (MyISAM)",
			"PrimaryKeyMissing: shop.bare", "ADD PRIMARY KEY")
		for _, o := range []kubeclient.ObjectList{&corev1.PersistentVolumeClaimList{}} {
			Expect(kube.List(ctx, o, kubeclient.InNamespace(ns))).To(Succeed())
			Expect(meta.LenList(o)).To(BeZero())
		}
	}, SpecTimeout(4*time.Minute))

	It("goes on by itself when that is corrected, though its Job is killed, and is the source row by row on every node",
		func(ctx SpecContext) {
			Expect(old.Exec(ctx, "ALTER TABLE shop.log ENGINE=InnoDB, ADD PRIMARY KEY (id)",
				"ALTER TABLE shop.bare ADD PRIMARY KEY (id)")).To(Succeed())
			Expect(kubectlGalera(ctx, ns, importCheck(old)...)).To(ContainSubstring("it can be copied"))
			var job batchv1.Job
			copying := func(ctx context.Context) (bool, string, error) {
				var all batchv1.JobList
				err := kube.List(ctx, &all, kubeclient.InNamespace(ns), kubeclient.HasLabels{v1alpha1.LabelMember})
				if err != nil || len(all.Items) == 0 {
					return false, "", err
				}
				job = all.Items[0]
				return job.Status.Active > 0, "", nil
			}
			Expect(kube.Until(ctx, "a Job that copies", 4*time.Minute, copying)).To(Succeed())
			var pods corev1.PodList
			Expect(kube.Until(ctx, "its pod", time.Minute, func(ctx context.Context) (bool, string, error) {
				err := kube.List(ctx, &pods, kubeclient.InNamespace(ns), kubeclient.MatchingLabels{batchv1.JobNameLabel: job.Name})
				return err == nil && len(pods.Items) == 1 && pods.Items[0].Status.Phase == corev1.PodRunning, "", err
			})).To(Succeed())
			Expect(kube.Until(ctx, "how far it is", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
				have, err := c.Get(ctx)
				if err != nil || have.Status.Restore.Progress == nil {
					return false, "", err
				}
				at := have.Status.Restore.Progress
				return at.Rows > 0 && at.ExpectedRows > 1000000, at.Summary, nil
			})).To(Succeed())
			Expect(kubectlGalera(ctx, ns, "status", c.Name)).To(ContainSubstring("copy  "))
			Expect(kube.Delete(ctx, &pods.Items[0], kubeclient.GracePeriodSeconds(0))).To(Succeed())

			Expect(c.WaitReady(ctx, 6*time.Minute)).To(Succeed())
			var want string
			sum := "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v)))) FROM shop.t"
			Eventually(func() error { return old.DB.QueryRowContext(ctx, sum).Scan(&want) }).WithTimeout(time.Minute).
				Should(Succeed())
			Expect(want).To(HavePrefix("2000000 "))
			cl := client(ctx, c)
			for _, pod := range podNames(ctx, c) {
				Expect(cl.QueryPod(ctx, pod, sum)).To(Equal(want))
				accounts := "SELECT COUNT(*) FROM mysql.global_priv WHERE user IN ('app', 'mover')"
				Expect(cl.QueryPod(ctx, pod, accounts)).To(Equal("2"))
			}
			Expect(cl.As("app", nil).WithPassword("app's").Exec(ctx, c.Name+"-primary", "INSERT INTO shop.t VALUES (0, 'new')")).
				To(Succeed())
			have, err := c.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			s := have.Status.Restore
			Expect(s.Phase).To(Equal(v1alpha1.RestoreCompleted))
			Expect(s.Attempts).To(BeNumerically(">=", 2), "one for the findings, one for the killed Job")
			Expect(s.External.Rows).To(BeNumerically("==", 2000000))
			Expect(s.Progress).To(BeNil())
			Expect(s.External.GTID).To(HavePrefix("3-7-"))
			Expect(s.External.Plaintext).To(BeTrue())
			Expect(s.External.LockedMilliseconds).To(BeNumerically("<", 1000))
			Expect(strings.HasPrefix(s.Position, have.Status.ClusterUUID+":")).To(BeTrue())
			progress("%s", s.Message)
		}, SpecTimeout(8*time.Minute))
})

// importCheck are the arguments that check a source.
func importCheck(old *harness.ForeignServer) []string {
	return []string{"import", "check", "--host", old.Host, "--credentials", "old", "--insecure", "--users",
		"--server-version", "11.8", "--size", "10Gi"}
}
