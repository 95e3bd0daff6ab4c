package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Clients", Label(Core), func() {
	It("read on every node what was written on any", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		cl := client(ctx, shop)
		Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE DATABASE IF NOT EXISTS e2e",
			"CREATE OR REPLACE TABLE e2e.reads (writer VARCHAR(64) PRIMARY KEY)")).To(Succeed())
		names := podNames(ctx, shop)
		for _, writer := range names {
			db, err := cl.OpenPod(ctx, writer)
			Expect(err).NotTo(HaveOccurred())
			_, err = db.ExecContext(ctx, "INSERT INTO e2e.reads VALUES (?)", writer)
			Expect(err).NotTo(HaveOccurred())
			Expect(db.Close()).To(Succeed())
			for _, reader := range names {
				Eventually(func(g Gomega) {
					n, err := cl.QueryPod(ctx, reader, "SELECT COUNT(*) FROM e2e.reads WHERE writer = ?", writer)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(n).To(Equal("1"), "%s reads what %s wrote", reader, writer)
				}).WithContext(ctx).WithTimeout(10 * time.Second).WithPolling(100 * time.Millisecond).Should(Succeed())
			}
		}
	}, SpecTimeout(6*time.Minute))

	It("log in as root over TLS, verified against the ConfigMap NAME-ca, through both Services", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		cl := client(ctx, shop)
		for _, service := range []string{shop.Name, shop.Name + "-primary"} {
			Expect(askService(ctx, cl, service, "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_version'")).
				To(Equal("TLSv1.3"), service)
		}
	}, SpecTimeout(6*time.Minute))

	It("reach every node through NAME, and only the primary through NAME-primary", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		cl := client(ctx, shop)
		seen := map[string]bool{}
		// Connections are spread at random: with 40 of them, one node in three is missed once in ten million.
		for range 40 {
			seen[askService(ctx, cl, shop.Name, "SELECT @@hostname")] = true
		}
		Expect(seen).To(HaveLen(3), "nodes behind %s: %v", shop.Name, seen)
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		for range 5 {
			Expect(askService(ctx, cl, shop.Name+"-primary", "SELECT @@hostname")).To(Equal(primary))
		}
	}, SpecTimeout(6*time.Minute))

	It("are refused without TLS", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		inClear := client(ctx, shop).With(harness.Clear)
		for _, pod := range podNames(ctx, shop) {
			_, err := inClear.QueryPod(ctx, pod, "SELECT 1")
			Expect(err).To(HaveOccurred(), "%s lets a client in without TLS", pod)
			Expect(err.Error()).To(Or(ContainSubstring("1045"), ContainSubstring("insecure transport"), ContainSubstring("3159")),
				"%s must refuse because of the missing TLS", pod)
		}
	}, SpecTimeout(6*time.Minute))

	It("are refused with a wrong password", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		_, err := client(ctx, shop).WithPassword("wrong").QueryPod(ctx, podNames(ctx, shop)[0], "SELECT 1")
		Expect(err).To(MatchError(ContainSubstring("1045")))
	}, SpecTimeout(6*time.Minute))
})

// askService asks one question over a new connection through a Service.
func askService(ctx context.Context, cl *harness.Client, service, query string) string {
	GinkgoHelper()
	db, err := cl.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(db.Close()).To(Succeed()) }()
	var out string
	Expect(db.QueryRowContext(ctx, query).Scan(&out)).To(Succeed(), fmt.Sprintf("%s through %s", query, service))
	return out
}
