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

var _ = Describe("Scheduled events", Ordered, Label(Slow, Faults), func() {
	var shop *harness.Cluster

	BeforeAll(func(ctx SpecContext) {
		shop, _ = archivedCluster(ctx)
	}, NodeTimeout(9*time.Minute))

	It("run on the primary only, through a promotion and the loss of the node that created them", func(ctx SpecContext) {
		cl := client(ctx, shop)
		Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.runs (at DATETIME(6), node VARCHAR(64), event VARCHAR(8), PRIMARY KEY (at, node, event))",
			createEvent("first"))).To(Succeed())
		creator, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionEventsScheduled, metav1.ConditionFalse,
			v1alpha1.ReasonEventSchedulerOff, shortly)).To(Succeed())
		Expect(runsSince(ctx, shop, creator, "2000-01-01")).To(Equal("0 "), "no event runs that is not asked for")

		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.MariaDB.Events = v1alpha1.EventsFollowPrimary })
		expectEvents(ctx, shop, "first")
		By("promoting another node")
		next, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		kubectlGalera(ctx, shop.Namespace, "promote", shop.Name, next, "--wait")
		expectEvents(ctx, shop, "first")
		By("losing the volume of the creator, which becomes the primary again")
		Expect(loseVolume(ctx, shop, creator)).To(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		expectEvents(ctx, shop, "first")
		kubectlGalera(ctx, shop.Namespace, "promote", shop.Name, creator, "--wait")
		expectEvents(ctx, shop, "first")
	}, SpecTimeout(9*time.Minute))

	It("run on the primary of a cluster that is restored to a point in time", func(ctx SpecContext) {
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		b := newBackup(shop, "whole")
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", createEvent("later"))).To(Succeed())
		expectEvents(ctx, shop, "first,later")
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.MariaDB.Events = v1alpha1.EventsDisabled })
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionEventsScheduled, metav1.ConditionFalse,
			v1alpha1.ReasonEventSchedulerOff, 2*time.Minute)).To(Succeed())
		last := position(ctx, shop, primary)
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, shop).Backup.ArchivedGTID).To(Equal(last)) })

		c := sampleCluster(shop.Namespace)
		c.Name, c.Spec.Replicas, c.Spec.MariaDB.Events = "again", 1, v1alpha1.EventsFollowPrimary
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			PointInTime: &v1alpha1.RestorePoint{Latest: true},
			Store:       &v1alpha1.BootstrapStore{Name: "offsite", Cluster: shop.Name}}
		again := create(ctx, c)
		Expect(again.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		progress("%s", status(ctx, again).Restore.Message)
		Expect(again.WaitCondition(ctx, v1alpha1.ConditionEventsScheduled, metav1.ConditionFalse,
			v1alpha1.ReasonEventsNowhere, shortly)).To(Succeed())
		cond, err := again.Condition(ctx, v1alpha1.ConditionEventsScheduled)
		Expect(err).NotTo(HaveOccurred())
		Expect(cond.Message).To(And(ContainSubstring(`"kept.later"`), Not(ContainSubstring("first"))))
		eventually(ctx, func(o Gomega) { // of the base backup
			o.Expect(runsSince(ctx, again, "again-0", "2000-01-01")).To(ContainSubstring("again-0"))
		})
		Expect(client(ctx, again).Exec(ctx, "again-primary", "ALTER DEFINER = 'root'@'%' EVENT kept.later ENABLE")).
			To(Succeed())
		expectEvents(ctx, again, "first,later")
	}, SpecTimeout(9*time.Minute))
})

func createEvent(name string) string {
	return fmt.Sprintf("CREATE EVENT kept.%s ON SCHEDULE EVERY 1 SECOND "+
		"DO INSERT INTO kept.runs VALUES (UTC_TIMESTAMP(6), @@hostname, '%s')", name, name)
}

// runsSince returns how many runs there were since a time, and the nodes and events of them.
func runsSince(ctx context.Context, c *harness.Cluster, pod, since string) string {
	GinkgoHelper()
	out, err := client(ctx, c).QueryPod(ctx, pod, fmt.Sprintf("SELECT CONCAT(LEAST(COUNT(*), 5), ' ', "+
		"COALESCE(CONCAT(GROUP_CONCAT(DISTINCT node), ' ', GROUP_CONCAT(DISTINCT event ORDER BY event)), '')) "+
		"FROM kept.runs WHERE at > '%s'", since))
	Expect(err).NotTo(HaveOccurred())
	return out
}

// expectEvents: events run on the primary, and from now on no other node runs one; all nodes have them enabled.
func expectEvents(ctx context.Context, c *harness.Cluster, names string) {
	GinkgoHelper()
	primary, err := c.Primary(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(c.WaitCondition(ctx, v1alpha1.ConditionEventsScheduled, metav1.ConditionTrue, v1alpha1.ReasonEventsOnPrimary,
		2*time.Minute)).To(Succeed())
	for _, pod := range podNames(ctx, c) {
		eventually(ctx, func(o Gomega) {
			have, err := client(ctx, c).QueryPod(ctx, pod, "SELECT CONCAT(GROUP_CONCAT(name ORDER BY name), ' ', "+
				"GROUP_CONCAT(DISTINCT status), ' ', @@event_scheduler) FROM mysql.event")
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(have).To(Equal(names+" ENABLED "+map[bool]string{true: "ON", false: "OFF"}[pod == primary]), pod)
		})
	}
	now, err := client(ctx, c).QueryPod(ctx, primary, "SELECT UTC_TIMESTAMP(6)")
	Expect(err).NotTo(HaveOccurred())
	eventually(ctx, func(o Gomega) {
		o.Expect(runsSince(ctx, c, primary, now)).To(Equal("5 " + primary + " " + names))
	})
}
