package e2e

import (
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var killCommand = regexp.MustCompile(`KILL [0-9]+`)

var _ = Describe("A connection that holds up the statements of all nodes", Label(Slow, Faults), func() {
	It("is named with its node, and the printed KILL ends the wait", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		replica, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		cl := client(ctx, shop)
		Expect(cl.Exec(ctx, "shop-primary", "CREATE DATABASE IF NOT EXISTS held",
			"CREATE TABLE IF NOT EXISTS held.items (id INT PRIMARY KEY)")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cl.Exec(ctx, "shop-primary", "DROP DATABASE held")).To(Succeed()) })

		db, err := cl.OpenPod(ctx, replica)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		conn, err := db.Conn(ctx)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = conn.Close() }() // or the cleanup would wait for it
		eventually(ctx, func(o Gomega) {    // the table comes a moment later
			_, err := conn.ExecContext(ctx, "LOCK TABLES held.items READ")
			o.Expect(err).NotTo(HaveOccurred())
		})
		altered := make(chan error, 1)
		go func() {
			altered <- cl.Exec(ctx, "shop-primary", "ALTER TABLE held.items ADD COLUMN note INT")
		}()
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonStatementBlocked,
			recoverTime)).To(Succeed())
		stalled, err := shop.Condition(ctx, v1alpha1.ConditionStalled)
		Expect(err).NotTo(HaveOccurred())
		Expect(stalled.Message).To(And(HavePrefix(replica+":"), ContainSubstring("held.items"),
			ContainSubstring("user root"), MatchRegexp(killCommand.String())))

		_, err = db.ExecContext(ctx, killCommand.FindString(stalled.Message))
		Expect(err).NotTo(HaveOccurred())
		Expect(<-altered).To(Succeed(), "the statement that waited")
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionFalse, "", shortly)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
	}, SpecTimeout(6*time.Minute))
})
