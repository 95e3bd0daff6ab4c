package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("The archive of a cluster of MariaDB 10.11", Ordered, Label(Slow, Faults), func() {
	var a *archived
	var newer string

	BeforeAll(func(ctx SpecContext) {
		var err error
		newer, err = kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(harness.LoadOld(ctx)).To(Succeed())
		shop, objects := archivedCluster(ctx, func(s *v1alpha1.GaleraClusterSpec) { s.Image = harness.OldImage })
		a = &archived{shop: shop, objects: objects}
	}, NodeTimeout(14*time.Minute))

	It("goes on after a hibernation", func(ctx SpecContext) { a.throughHibernation(ctx) }, SpecTimeout(10*time.Minute))

	It("goes on through a rolling upgrade to the next series", func(ctx SpecContext) {
		a.through(ctx, func() {
			setImage(ctx, a.shop, newer)
			waitVersion(ctx, a.shop, "11.8.")
		})
	}, SpecTimeout(10*time.Minute))

	It("is restored to a transaction before the upgrade with the image of then, and to the latest, row by row",
		func(ctx SpecContext) {
			a.restored(ctx, harness.OldImage)
		}, SpecTimeout(9*time.Minute))
})
