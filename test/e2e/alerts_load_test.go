package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Alerts about load and storage", Label(Slow, Faults), func() {
	It("report flow control and conflicts", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), sharedCluster(ctx)
		names := podNames(ctx, shop)
		w := startWriter(ctx, shop, harness.WriterOptions{Connections: 8, Interval: time.Millisecond})
		// a node whose tables are locked is desynced, and asks for none
		By("having one node ask for a pause at each write-set that waits")
		db, err := client(ctx, shop).OpenPod(ctx, names[2])
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		limit := func(n int) {
			GinkgoHelper()
			_, err := db.ExecContext(ctx, fmt.Sprintf("SET GLOBAL wsrep_provider_gcs_fc_limit = %d", n))
			Expect(err).NotTo(HaveOccurred())
		}
		limit(1)
		a.fire(ctx, shop, "GaleraFlowControl")
		limit(16)
		a.clear(ctx, shop, "GaleraFlowControl")
		w.Stop()

		By("writing one row through two nodes")
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary",
			"CREATE OR REPLACE TABLE e2e.hot (id INT PRIMARY KEY, n BIGINT)", "INSERT INTO e2e.hot VALUES (1, 0)")).To(Succeed())
		fighting, stop := context.WithCancel(ctx)
		defer stop()
		for _, pod := range names[:2] {
			db, err := client(ctx, shop).OpenPod(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			for range 2 {
				go func() {
					for fighting.Err() == nil {
						_, _ = db.ExecContext(fighting, "UPDATE e2e.hot SET n = n + 1 WHERE id = 1") // that many fail is meant
					}
				}()
			}
		}
		a.fire(ctx, shop, "GaleraCertificationConflicts")
		stop()
		a.clear(ctx, shop, "GaleraCertificationConflicts")
	}, SpecTimeout(10*time.Minute))

	It("report that the gcache is short, until it was enlarged", func(ctx SpecContext) {
		a := watchAlarms(ctx)
		c := create(ctx, harness.Build(newNamespace(ctx, "gcache"), "shop", harness.Replicas(1), harness.Size("8Gi")))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		By("writing 64 MB at once: about 100 kB per second in the average that sizes are chosen by")
		cl := client(ctx, c)
		Expect(cl.Exec(ctx, c.Name+"-primary", "CREATE DATABASE much",
			"CREATE TABLE much.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")).To(Succeed())
		for range 64 {
			Expect(cl.Exec(ctx, c.Name+"-primary", "INSERT INTO much.t (v) VALUES (REPEAT('x', 1000000))")).To(Succeed())
		}
		a.fire(ctx, c, "GaleraCacheWindowShort")
		change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) {
			s.StateTransfer.ISTWindow = &metav1.Duration{Duration: time.Hour}
		})
		kubectlGalera(ctx, c.Namespace, "restart", c.Name, "--wait")
		eventually(ctx, func(o Gomega) { // the alert must not clear because nothing is known
			cache := status(ctx, c).Members[0].Cache
			o.Expect(cache).NotTo(BeNil())
			o.Expect(cache.Window).NotTo(BeNil())
			o.Expect(cache.Window.Duration).To(BeNumerically(">=", time.Hour), "a gcache of %s", cache.Size.String())
		})
		a.clear(ctx, c, "GaleraCacheWindowShort")
		Consistently(func(o Gomega) {
			o.Expect(a.Firing(ctx, map[string]string{"alertname": "GaleraCacheWindowShort", "namespace": c.Namespace,
				hasty: "yes"})).To(BeEmpty())
		}).WithContext(ctx).WithTimeout(20 * time.Second).WithPolling(5 * time.Second).Should(Succeed())
	}, SpecTimeout(12*time.Minute))

	It("report that a copy stands still", func(ctx SpecContext) {
		a, shop := watchAlarms(ctx), slowTransfers(ctx)
		t := beginCopy(ctx, shop)
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
		Expect(kube.Network().Partition(ctx, shop, []string{t.joiner}, t.others)).To(Succeed())
		a.fire(ctx, shop, "GaleraJoinStalled")
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		a.clear(ctx, shop, "GaleraJoinStalled")
		Expect(shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
	}, SpecTimeout(12*time.Minute))

	It("report that a volume is full", func(ctx SpecContext) {
		a := watchAlarms(ctx)
		disks, err := harness.CreateSmallDisks(ctx, kube, 800)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(disks.Remove(ctx)).To(Succeed()) })
		c := create(ctx, harness.Build(newNamespace(ctx, "small"), "small", harness.Replicas(1),
			harness.StorageClass(disks.Class), harness.Size("512Mi")))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		host, err := c.Pods().NodeOf(ctx, "small-0")
		Expect(err).NotTo(HaveOccurred())
		Expect(disks.Fill(ctx, host)).To(Succeed())
		a.fire(ctx, c, "GaleraVolumeFilling", "GaleraVolumeFull")
		Expect(disks.Free(ctx, host)).To(Succeed())
		a.clear(ctx, c, "GaleraVolumeFull", "GaleraVolumeFilling")
	}, SpecTimeout(8*time.Minute))
})
