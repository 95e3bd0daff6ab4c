package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/test/harness"
)

// slowAlter copies a table whose rows take their time to be computed: minutes, so that each node has shown it before
// one of them is through.
const slowAlter = "ALTER TABLE cut.t ADD COLUMN slow CHAR(32) AS (MD5(REPEAT(MD5(id), 400000))) STORED"

// Galera marks the data of every node while a statement changes tables. A power cut then leaves nodes that may each
// have a part of it.
var _ = Describe("A cluster that went down altogether", Label(Core, Faults), func() {
	It("comes back from the middle of a statement that changes tables, the same on all nodes, without an approval",
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			before := status(ctx, shop)
			cl := client(ctx, shop)
			Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE DATABASE cut", "CREATE TABLE cut.t (id INT PRIMARY KEY)",
				"INSERT INTO cut.t SELECT seq FROM cut.seq_1_to_4000")).To(Succeed())
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			go func() {
				defer GinkgoRecover()
				_ = cl.Exec(ctx, shop.Name+"-primary", slowAlter) // it is cut off
			}()
			pods := podNames(ctx, shop)
			eventually(ctx, func(o Gomega) {
				for _, pod := range pods {
					n, err := cl.QueryPod(ctx, pod,
						"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE cut%'")
					o.Expect(err).NotTo(HaveOccurred())
					o.Expect(n).To(Equal("1"), pod)
				}
			})
			killed := time.Now()
			Expect(shop.Servers().Kill(ctx, pods...)).To(Succeed())
			expectRecovery(ctx, shop, w, killed)
			expectHistory(ctx, shop, before.ClusterUUID)
			// a node with a part of the statement takes a full copy
			expectJoins(ctx, shop, killed, And(HaveLen(len(pods)-1), HaveEach("SST")))
			expectSameTable(ctx, shop, "cut.t")
			stopAndCheck(ctx, w, start)
			Expect(cl.Exec(ctx, shop.Name+"-primary", "DROP DATABASE cut")).To(Succeed())
		}, SpecTimeout(8*time.Minute))
})

// expectSameTable compares a table's definition and rows on all nodes.
func expectSameTable(ctx context.Context, c *harness.Cluster, table string) {
	GinkgoHelper()
	columns := map[string]bool{}
	for _, pod := range podNames(ctx, c) {
		got, err := client(ctx, c).QueryPod(ctx, pod,
			"SELECT CONCAT((SELECT GROUP_CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE ORDER BY 1) FROM information_schema.COLUMNS "+
				"WHERE CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) = ?), ', rows: ', (SELECT COUNT(*) FROM "+table+"))", table)
		Expect(err).NotTo(HaveOccurred())
		progress("%s on %s: %s", table, pod, got)
		columns[got] = true
	}
	Expect(columns).To(HaveLen(1))
}
