package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// A reader is a cluster of one node that follows another one, with a limit of how old data may be that are read by its
// Service NAME-readonly.
var _ = Describe("A reader", Label(Slow, Faults), func() {
	It("leaves its Service while it is too far behind, and returns by itself", func(ctx SpecContext) {
		first, objects := archivedCluster(ctx, func(s *v1alpha1.GaleraClusterSpec) { s.Replicas = 1 })
		reader := secondSite(ctx, first, objects)
		service := reader.Name + "-readonly"
		streamTo(ctx, first, reader)
		eventually(ctx, func(o Gomega) {
			s := status(ctx, reader).Replication.Stream
			o.Expect(s).NotTo(BeNil())
			o.Expect(s.Connected).To(BeTrue(), "%+v", s)
		})
		read := func(service string) (last int, err error) {
			db, err := client(ctx, reader).OpenService(ctx, service)
			Expect(err).NotTo(HaveOccurred())
			defer func() { _ = db.Close() }()
			return last, db.QueryRowContext(ctx, "SELECT MAX(id) FROM kept.points").Scan(&last)
		}
		leads := func(want metav1.ConditionStatus, reason string, endpoints int) {
			GinkgoHelper()
			start := time.Now()
			Expect(reader.WaitCondition(ctx, v1alpha1.ConditionWithinMaxLag, want, reason, 2*time.Minute)).To(Succeed())
			eventually(ctx, func(o Gomega) { o.Expect(endpointsOf(ctx, reader, service)).To(Equal(endpoints)) })
			progress("%s %s after %s", want, reason, time.Since(start).Round(time.Second))
		}
		Expect(client(ctx, first).Exec(ctx, first.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.points (id INT PRIMARY KEY)", "INSERT INTO kept.points VALUES (1)")).To(Succeed())
		Expect(reader.Change(ctx, func(c *v1alpha1.GaleraCluster) {
			c.Spec.ReadOnlyService.MaxLag = &metav1.Duration{Duration: 20 * time.Second}
		})).To(Succeed())
		leads(metav1.ConditionTrue, v1alpha1.ReasonWithinMaxLag, 1)
		eventually(ctx, func(o Gomega) {
			last, err := read(service)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(last).To(Equal(1))
		})

		By("cutting it off from the cluster and from the store")
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Network().Heal(ctx)).To(Succeed()) })
		Expect(kube.Network().CutBetween(ctx, addressesOf(ctx, reader.Namespace, "source"),
			append(addressesOf(ctx, first.Namespace, "database"), objects.PodIP()))).To(Succeed())
		Expect(client(ctx, first).Exec(ctx, first.Name+"-primary", "INSERT INTO kept.points VALUES (2)")).To(Succeed())
		leads(metav1.ConditionFalse, v1alpha1.ReasonLagExceeded, 0)
		eventually(ctx, func(o Gomega) {
			_, err := read(service)
			o.Expect(err).To(HaveOccurred(), "the Service leads to no node")
		})
		Expect(read(reader.Name)).To(Equal(1), "older data are still to be had")
		progress("%s", kubectlGalera(ctx, reader.Namespace, "status", reader.Name))

		By("healing the network")
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		leads(metav1.ConditionTrue, v1alpha1.ReasonWithinMaxLag, 1)
		eventually(ctx, func(o Gomega) {
			last, err := read(service)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(last).To(Equal(2))
		})
	}, SpecTimeout(15*time.Minute))
})
