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
		eventually(ctx, func(o Gomega) {
			o.Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE DATABASE IF NOT EXISTS e2e",
				"CREATE OR REPLACE TABLE e2e.reads (writer VARCHAR(64) PRIMARY KEY)")).To(Succeed())
		})
		names := podNames(ctx, shop)
		for _, writer := range names {
			eventually(ctx, func(o Gomega) { // where the table is to be applied yet
				db, err := cl.OpenPod(ctx, writer)
				o.Expect(err).NotTo(HaveOccurred())
				defer func() { _ = db.Close() }()
				_, err = db.ExecContext(ctx, "REPLACE INTO e2e.reads VALUES (?)", writer)
				o.Expect(err).NotTo(HaveOccurred())
			})
			for _, reader := range names {
				eventually(ctx, func(o Gomega) {
					n, err := cl.QueryPod(ctx, reader, "SELECT COUNT(*) FROM e2e.reads WHERE writer = ?", writer)
					o.Expect(err).NotTo(HaveOccurred())
					o.Expect(n).To(Equal("1"), "%s reads what %s wrote", reader, writer)
				})
			}
		}
	}, SpecTimeout(6*time.Minute))

	It("log in as root over TLS, verified against the ConfigMap NAME-ca, through both Services", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		cl := client(ctx, shop)
		for _, service := range []string{shop.Name, shop.Name + "-primary"} {
			Expect(
				askService(ctx, cl, service,
					"SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_version'")).
				To(Equal("TLSv1.3"), service)
		}
	}, SpecTimeout(6*time.Minute))

	It("reach every node through NAME, and only the primary through NAME-primary", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		cl := client(ctx, shop)
		seen := map[string]bool{}
		eventually(ctx, func(o Gomega) { // connections are spread at random
			seen[askService(ctx, cl, shop.Name, "SELECT @@hostname")] = true
			o.Expect(seen).To(HaveLen(3), "nodes behind %s: %v", shop.Name, seen)
		})
		primary, err := shop.Primary(ctx)
		Expect(err).NotTo(HaveOccurred())
		eventually(ctx, func(o Gomega) { // one that has just moved is not known everywhere
			o.Expect(askService(ctx, cl, shop.Name+"-primary", "SELECT @@hostname")).To(Equal(primary))
		})
		for range 20 {
			Expect(askService(ctx, cl, shop.Name+"-primary", "SELECT @@hostname")).To(Equal(primary))
		}
	}, SpecTimeout(6*time.Minute))

	It("are refused without TLS", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		inClear := client(ctx, shop).With(harness.Clear)
		for _, pod := range podNames(ctx, shop) {
			_, err := inClear.QueryPod(ctx, pod, "SELECT 1")
			Expect(err).To(HaveOccurred(), "%s lets a client in without TLS", pod)
			Expect(err.Error()).To(Or(ContainSubstring("1045"), ContainSubstring("insecure transport"),
				ContainSubstring("3159")),
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
	var out string
	eventually(ctx, func(o Gomega) {
		db, err := cl.OpenService(ctx, service)
		o.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		o.Expect(db.QueryRowContext(ctx, query).Scan(&out)).To(Succeed(), fmt.Sprintf("%s through %s", query, service))
	})
	return out
}
