package e2e

import (
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// manyClusters are created and killed together.
const manyClusters = 10

var _ = Describe("Ten clusters", Label(Slow, Faults), func() {
	It("are created together, killed together with the operator, and come back together without a lost write",
		func(ctx SpecContext) {
			dropShared(ctx)
			ns := newNamespace(ctx, "many")
			began := time.Now()
			var clusters []*harness.Cluster
			for i := range manyClusters {
				clusters = append(clusters, create(ctx, harness.Build(ns, fmt.Sprintf("shop%d", i),
					func(s *v1alpha1.GaleraClusterSpec) {
						s.MariaDB.Config = map[string]v1alpha1.Setting{"innodb_buffer_pool_size": {Text: "32M"}}
					})))
			}
			all(clusters, func(c *harness.Cluster) { Expect(c.WaitReady(ctx, 10*time.Minute)).To(Succeed()) })
			progress("%d clusters Ready %s after they were applied", manyClusters, time.Since(began).Round(time.Second))

			var writers []*harness.Writer
			for _, c := range clusters {
				writers = append(writers, startWriter(ctx, c,
					harness.WriterOptions{Connections: 1, Interval: 20 * time.Millisecond}))
			}
			killed := time.Now()
			Expect(kube.Operator().Kill(ctx)).To(Succeed())
			for _, c := range clusters {
				Expect(c.Servers().Kill(ctx, podNames(ctx, c)...)).To(Succeed())
			}
			dead := time.Now()
			var first []time.Duration
			for i, w := range writers {
				Expect(w.WaitForMore(ctx, 20, 5*time.Minute)).To(Succeed())
				at, found := w.FirstWriteAfter(dead)
				Expect(found).To(BeTrue())
				first = append(first, at.Sub(dead))
				Expect(clusters[i].WaitHealthy(ctx, 5*time.Minute)).To(Succeed())
			}
			slices.Sort(first)
			progress("killed within %s; first write again: %s after that in the first cluster, %s in the last",
				dead.Sub(killed).Round(time.Second),
				first[0].Round(100*time.Millisecond), first[len(first)-1].Round(100*time.Millisecond))
			AddReportEntry("first write in the last of ten clusters", first[len(first)-1].Round(100*time.Millisecond).String())
			for _, w := range writers {
				stopAndCheck(ctx, w, killed)
			}
		}, SpecTimeout(25*time.Minute))
})

// all does something with every cluster, side by side.
func all(clusters []*harness.Cluster, do func(*harness.Cluster)) {
	GinkgoHelper()
	var wait sync.WaitGroup
	for _, c := range clusters {
		wait.Go(func() {
			defer GinkgoRecover()
			do(c)
		})
	}
	wait.Wait()
}
