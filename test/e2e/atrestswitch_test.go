package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// encryptTime is how long two rolling restarts and MariaDB's threads may take.
const encryptTime = 6 * time.Minute

// waitAtRest waits until a cluster's data are switched so far.
func waitAtRest(ctx context.Context, c *harness.Cluster, state string) {
	GinkgoHelper()
	Eventually(ctx, func(o Gomega) {
		s := status(ctx, c).AtRest
		o.Expect(s).NotTo(BeNil())
		o.Expect(s.State).To(Equal(state), s.Message)
	}, encryptTime, time.Second).Should(Succeed())
}

// leaveUnused has rows left in pages that InnoDB has freed, on every node.
func leaveUnused(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	db := client(ctx, c)
	Expect(db.Exec(ctx, c.Name+"-primary", "CREATE TABLE marked.gone (id INT PRIMARY KEY, v CHAR(64))",
		"INSERT INTO marked.gone SELECT seq, CONCAT('"+diskMarker+"', seq) FROM marked.seq_1_to_20000")).To(Succeed())
	for _, pod := range podNames(ctx, c) {
		tableSum(ctx, c, pod, "marked.gone") // it has applied the rows
		conn, err := db.OpenPod(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		conn.SetMaxOpenConns(1)
		for _, statement := range []string{"SET SESSION wsrep_on = OFF", "FLUSH TABLES marked.gone FOR EXPORT",
			"UNLOCK TABLES"} { // a page that is freed before it is written has nothing on the disk
			_, err := conn.ExecContext(ctx, statement)
			Expect(err).NotTo(HaveOccurred(), statement)
		}
		Expect(conn.Close()).To(Succeed())
	}
	Expect(db.Exec(ctx, c.Name+"-primary", "DELETE FROM marked.gone")).To(Succeed())
}

// proved waits until the proof is there, which may take another rolling restart, and searches every node's volume.
func proved(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	Expect(c.WaitCondition(ctx, v1alpha1.ConditionEncryptedAtRest, metav1.ConditionTrue, v1alpha1.ReasonProved,
		encryptTime)).To(Succeed())
	for _, pod := range podNames(ctx, c) {
		Expect(inClear(ctx, c, pod)).To(BeEmpty(), pod)
	}
}

// inClear returns the files of a node's volume in which rows are to be read.
func inClear(ctx context.Context, c *harness.Cluster, pod string) []string {
	GinkgoHelper()
	v, err := c.Volumes().Of(ctx, pod)
	Expect(err).NotTo(HaveOccurred())
	files, err := v.Search(ctx, diskMarker)
	Expect(err).NotTo(HaveOccurred())
	return files
}

// killBetweenSteps kills the operator each time the status shows another state, or the restart of another node, until
// the data are switched so far, and every node runs so. It returns the states that it was killed in.
func killBetweenSteps(ctx context.Context, c *harness.Cluster, state string) (in []string) {
	GinkgoHelper()
	seen, db := map[string]bool{}, client(ctx, c)
	Eventually(ctx, func(o Gomega) {
		s := status(ctx, c)
		o.Expect(s.AtRest).NotTo(BeNil())
		step := s.AtRest.State
		if op := s.Operation; op != nil {
			step = fmt.Sprint(step, " ", op.ID, " ", op.Target)
		}
		if !seen[step] {
			seen[step] = true
			progress("killing the operator at: %s", step)
			o.Expect(kube.Operator().Replace(ctx)).To(Succeed())
			in = append(in, s.AtRest.State)
		}
		o.Expect(s.AtRest.State).To(Equal(state), s.AtRest.Message)
		pods, err := c.Pods().List(ctx)
		o.Expect(err).NotTo(HaveOccurred())
		for _, p := range pods {
			keys := slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
				return v.Secret != nil && v.Secret.SecretName == s.AtRest.SecretName
			})
			o.Expect(keys).To(Equal(state == v1alpha1.AtRestOn), p.Name)
			encrypts, err := db.QueryPod(ctx, p.Name, "SELECT @@innodb_encrypt_tables")
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(encrypts).To(Equal(map[bool]string{true: "FORCE", false: "OFF"}[state == v1alpha1.AtRestOn]), p.Name)
		}
	}, 2*encryptTime, 100*time.Millisecond).Should(Succeed())
	progress("the operator was killed %d times", len(in))
	return slices.Compact(in)
}

var _ = Describe("A running cluster", Label(Slow, AtRest), func() {
	It("is encrypted at rest, and decrypted, without a lost write", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "switch")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		writeMarker(ctx, shop)
		leaveUnused(ctx, shop)
		want := tableSum(ctx, shop, shop.Name+"-0", "marked.t")
		for _, pod := range podNames(ctx, shop) {
			eventually(ctx, func(o Gomega) { o.Expect(inClear(ctx, shop, pod)).NotTo(BeEmpty(), pod) })
		}
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		By("encrypting")
		change(ctx, shop, atRest)
		waitAtRest(ctx, shop, v1alpha1.AtRestOn)
		proved(ctx, shop)
		progress("encrypted after %s", time.Since(start).Round(time.Second))
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())

		By("decrypting")
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Encryption = nil })
		waitAtRest(ctx, shop, v1alpha1.AtRestOff)
		Expect(shop.WaitHealthy(ctx, encryptTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
		for _, pod := range podNames(ctx, shop) {
			Expect(tableSum(ctx, shop, pod, "marked.t")).To(Equal(want), pod)
		}
	}, SpecTimeout(18*time.Minute))

	It("is switched at rest, on and off, though the operator is killed between the steps", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "switchkill")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		writeMarker(ctx, shop)
		want := tableSum(ctx, shop, shop.Name+"-0", "marked.t")
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		By("encrypting")
		change(ctx, shop, atRest)
		Expect(killBetweenSteps(ctx, shop, v1alpha1.AtRestOn)).To(ContainElement(v1alpha1.AtRestPreparing))
		Expect(shop.WaitHealthy(ctx, encryptTime)).To(Succeed())
		keys := status(ctx, shop).AtRest.Keys
		proved(ctx, shop)
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())

		By("decrypting")
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Encryption = nil })
		Expect(killBetweenSteps(ctx, shop, v1alpha1.AtRestOff)).To(ContainElement(v1alpha1.AtRestDecrypting))
		Expect(shop.WaitHealthy(ctx, encryptTime)).To(Succeed())
		Expect(status(ctx, shop).AtRest.Keys).To(Equal(keys), "no other keys were made")
		stopAndCheck(ctx, w, start)
		for _, pod := range podNames(ctx, shop) {
			Expect(tableSum(ctx, shop, pod, "marked.t")).To(Equal(want), pod)
		}
	}, SpecTimeout(25*time.Minute))
})

var _ = Describe("A backup in clear, and an archive of an encrypted log", Label(Slow, AtRest), func() {
	It("are restored into a cluster that is encrypted at rest", func(ctx SpecContext) {
		shop, _ := archivedCluster(ctx, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 1 })
		writeMarker(ctx, shop)
		archived := func() {
			GinkgoHelper()
			last := position(ctx, shop, shop.Name+"-0")
			eventually(ctx, func(o Gomega) { o.Expect(status(ctx, shop).Backup.ArchivedGTID).To(Equal(last)) })
		}
		restored := func(name string, keys *v1alpha1.KeysSecretReference) *harness.Cluster {
			GinkgoHelper()
			want := tableSum(ctx, shop, shop.Name+"-0", "marked.t")
			c := sampleCluster(shop.Namespace)
			c.Name, c.Spec.Replicas = name, 1
			c.Spec.Encryption = &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{KeysSecretRef: keys}}
			c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
				PointInTime: &v1alpha1.RestorePoint{Latest: true},
				Store:       &v1alpha1.BootstrapStore{Name: "offsite", Cluster: shop.Name}}
			next := create(ctx, c)
			Expect(next.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
			Expect(tableSum(ctx, next, name+"-0", "marked.t")).To(Equal(want))
			proved(ctx, next)
			return next
		}

		By("restoring a backup that was made in clear")
		archived()
		restored("clear", nil)

		By("encrypting the cluster, and restoring what its encrypted log has")
		change(ctx, shop, atRest)
		waitAtRest(ctx, shop, v1alpha1.AtRestOn)
		Expect(shop.WaitHealthy(ctx, encryptTime)).To(Succeed())
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary",
			"INSERT INTO marked.t SELECT seq, CONCAT('"+diskMarker+"', seq) FROM marked.seq_3001_to_4000")).To(Succeed())
		archived()
		restored("encrypted", &v1alpha1.KeysSecretReference{Name: shop.Name + "-keys"})
	}, SpecTimeout(18*time.Minute))
})
