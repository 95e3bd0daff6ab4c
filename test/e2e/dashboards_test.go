package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
	"github.com/galera-operator/galera-operator/test/monitoring/queries"
)

var _ = Describe("Dashboards", Label(Slow), func() {
	It("have no empty panel, with a cluster under load that was switched and backed up", func(ctx SpecContext) {
		a := watchAlarms(ctx)
		objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		shop := create(ctx, sampleCluster(newNamespace(ctx, "boards")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		makeStore(ctx, objects, shop.Namespace, identity)
		Expect(kube.Create(ctx, everyMinute(shop, "identity"))).To(Succeed())
		switchReplication(ctx, shop, v1alpha1.TLSDisabled, v1alpha1.SwitchRolling)
		switchReplication(ctx, shop, v1alpha1.TLSRequired, v1alpha1.SwitchRolling)
		By("having a node take a full transfer, which has a panel of its own")
		replica, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		lost := time.Now()
		Expect(shop.Volumes().DeleteClaim(ctx, replica)).To(Succeed())
		_, err = shop.Pods().Delete(ctx, replica)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Joins().Wait(ctx, replica, lost, joinTime)).To(Equal("SST"))
		startWriter(ctx, shop, harness.WriterOptions{Connections: 4})
		askFor(ctx, shop, "leaf@dashboards")

		values := map[string]string{"namespace": shop.Namespace, "cluster": shop.Name, "__rate_interval": "30s",
			"__range": "1h"}
		files, err := filepath.Glob(filepath.Join("..", "..", "config", "grafana", "*.json"))
		Expect(err).NotTo(HaveOccurred())
		var left []string
		Expect(kube.Until(ctx, "every query has an answer", backupTime, func(ctx context.Context) (bool, string, error) {
			left = emptyQueries(ctx, a, files, values)
			return len(left) == 0, "", nil
		})).To(Succeed(), "empty: %q", left)
	}, SpecTimeout(16*time.Minute))
})

// emptyQueries are those that have no answer, or are refused.
func emptyQueries(ctx context.Context, a *alarms, files []string, values map[string]string) []string {
	GinkgoHelper()
	var out []string
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		found, err := queries.Of(text)
		Expect(err).NotTo(HaveOccurred())
		for _, q := range found {
			if strings.Contains(q.Expr, "proxy") {
				continue // a cluster without a GaleraProxy has no series of one
			}
			asked++
			if samples, err := a.Ask(ctx, q.With(values)); err != nil || len(samples) == 0 {
				out = append(out, filepath.Base(file)+": "+q.Panel+": "+q.With(values))
			}
		}
	}
	slices.Sort(out)
	progress("%d of %d queries have no answer: %q", len(out), asked, out)
	return out
}
