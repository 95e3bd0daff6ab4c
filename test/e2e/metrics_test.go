package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// lint checks the metrics whose name begins so. Those of the database have mysqld_exporter's names, whatever these
// are like.
func lint(s harness.Scrape, prefix string) []promlint.Problem {
	GinkgoHelper()
	var families []*dto.MetricFamily
	for name, f := range s.Families {
		if strings.HasPrefix(name, prefix) {
			families = append(families, f)
		}
	}
	Expect(families).NotTo(BeEmpty())
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	Expect(err).NotTo(HaveOccurred())
	return problems
}

var _ = Describe("Metrics", func() {
	It("of nodes and operator are right, linted, and cheap", Label(Core), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		for _, pod := range podNames(ctx, shop) {
			before, err := shop.Agents().Resident(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			var took []time.Duration
			var s harness.Scrape
			for range 20 {
				s, err = shop.Agents().Scrape(ctx, pod)
				Expect(err).NotTo(HaveOccurred())
				took = append(took, s.Took)
			}
			slices.Sort(took)
			after, err := shop.Agents().Resident(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			progress("%s: a scrape of %d metrics takes %s (%s at most); the agent grew from %d to %d KiB", pod, len(s.Families),
				took[len(took)/2], took[len(took)-1], before>>10, after>>10)
			Expect(after - before).To(BeNumerically("<", 10<<20))
			Expect(lint(s, "galera_")).To(BeEmpty())
			expectNodeValues(ctx, shop, pod)
		}
		eventually(ctx, func(o Gomega) {
			s, err := kube.Operator().Scrape(ctx)
			o.Expect(err).NotTo(HaveOccurred())
			of := []string{"namespace", shop.Namespace, "cluster", shop.Name}
			for name, want := range map[string]float64{"galera_operator_nodes_wanted": 3, "galera_operator_nodes_synced": 3,
				"galera_operator_agent_up": 1} {
				got, known := s.Value(name, of...)
				o.Expect([]any{got, known}).To(Equal([]any{want, true}), name)
			}
			for _, condition := range []string{"Ready", "Available", "Encrypted"} {
				got, known := s.Value("galera_operator_condition", append(of, "condition", condition)...)
				o.Expect([]any{got, known}).To(Equal([]any{1.0, true}), condition)
			}
			o.Expect(s.Families).To(HaveKey("galera_operator_build_info"))
			o.Expect(s.Families).To(HaveKey("galera_operator_agent_request_duration_seconds"))
			o.Expect(lint(s, "galera_operator_")).To(BeEmpty())
		})
		// Reading them takes a token of an account that may.
		pod, err := kube.Operator().Pod(ctx)
		Expect(err).NotTo(HaveOccurred())
		stranger, err := kube.Operator().Token(ctx, "default")
		Expect(err).NotTo(HaveOccurred())
		for token, refusal := range map[string]string{"": "401", "made-up": "401", stranger: "403"} {
			_, err := kube.Operator().ScrapeAs(ctx, pod, token)
			Expect(err).To(MatchError(ContainSubstring(refusal)))
		}
	}, SpecTimeout(6*time.Minute))
})

// expectNodeValues waits until a node's agent has the values of a healthy one: a busy server may not answer one scrape,
// and a proof may be late once.
func expectNodeValues(ctx context.Context, c *harness.Cluster, pod string) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		s, err := c.Agents().Scrape(ctx, pod)
		o.Expect(err).NotTo(HaveOccurred())
		for name, value := range map[string]float64{
			"mysql_up": 1, "mysql_global_status_wsrep_cluster_size": 3, "mysql_global_status_wsrep_cluster_status": 1,
			"mysql_galera_status_info": 1, "mysql_version_info": 1,
			"galera_synced": 1, "galera_cluster_size": 3, "galera_primary_component": 1, "galera_agent_info": 1,
		} {
			got, known := s.Value(name)
			o.Expect([]any{got, known}).To(Equal([]any{value, true}), name)
		}
		encrypted, _ := s.Value("galera_channel_encrypted", "channel", "replication")
		accepted, known := s.Value("galera_channel_plaintext_accepted", "channel", "replication")
		o.Expect([]any{encrypted, accepted, known}).To(Equal([]any{1.0, 0.0, true}))
		size, _ := s.Value("mysql_galera_gcache_size_bytes")
		o.Expect(size).To(BeNumerically(">=", 1<<20))
	})
}

// The real exporter, for what agents do not read.
var _ = Describe("mysqld_exporter alongside the nodes", Label(Slow), func() {
	It("has an account of its own, serves digests, and no metric of the agent's", func(ctx SpecContext) {
		Expect(harness.LoadExporter(ctx)).To(Succeed())
		c := sampleCluster(newNamespace(ctx, "exporter"))
		c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"performance_schema": {Text: "ON"}}
		c.Spec.Monitoring = &v1alpha1.MonitoringSpec{Exporter: &v1alpha1.ExporterSpec{Image: harness.ExporterImage}}
		shop := create(ctx, c)
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		for _, pod := range podNames(ctx, shop) {
			runStatements(ctx, shop, pod)
			eventually(ctx, func(o Gomega) {
				s, err := shop.Servers().ScrapeExporter(ctx, pod)
				o.Expect(err).NotTo(HaveOccurred())
				up, _ := s.Value("mysql_up")
				o.Expect(up).To(Equal(1.0), "the account is there, and may log in")
				_, digests := s.Value("mysql_perf_schema_events_statements_total", "schema", "digests")
				_, tables := s.Value("mysql_perf_schema_table_io_waits_total", "schema", "digests", "name", "t")
				o.Expect([]bool{digests, tables}).To(Equal([]bool{true, true}))
			})
			theirs, err := shop.Servers().ScrapeExporter(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			ours, err := shop.Agents().Scrape(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			var both []string
			for name := range theirs.Families {
				if ours.Families[name] != nil {
					both = append(both, name)
				}
			}
			Expect(both).To(ConsistOf("mysql_up"), "which the PodMonitor drops")
			failed, _ := theirs.Value("mysql_exporter_last_scrape_error")
			Expect(failed).To(BeZero(), "every collector may read what it wants to")
		}
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.Monitoring = nil })
		eventually(ctx, func(o Gomega) {
			err := kube.Get(ctx, ctrlclient.ObjectKey{Namespace: shop.Namespace, Name: shop.Name + "-exporter"},
				&v1alpha1.GaleraUser{})
			o.Expect(apierrors.IsNotFound(err)).To(BeTrue())
		})
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		for _, pod := range podNames(ctx, shop) {
			p, err := shop.Pod(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			Expect(p.Spec.InitContainers).To(HaveLen(1))
		}
	}, SpecTimeout(12*time.Minute))
})

// runStatements gives a node's performance_schema something to report: the exporter counts statements by their default
// database.
func runStatements(ctx context.Context, c *harness.Cluster, pod string) {
	GinkgoHelper()
	to, err := client(ctx, c).Pod(ctx, pod, shortly)
	Expect(err).NotTo(HaveOccurred())
	db := sql.OpenDB(to)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, statement := range []string{"CREATE DATABASE IF NOT EXISTS digests", "USE digests",
		"CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)", "INSERT IGNORE INTO t VALUES (1)", "SELECT * FROM t"} {
		_, err := conn.ExecContext(ctx, statement)
		Expect(err).NotTo(HaveOccurred(), statement)
	}
}

// The format is the operator's to say, and no pod is restarted for it.
var _ = Describe("Logs as JSON", Label(Slow), func() {
	It("come from the operator, the agents and their databases when the operator says so", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before := runs(ctx, shop)
		undo, err := kube.Operator().SetArgument(ctx, "--log-format=json")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(undo(ctx)).To(Succeed()) }, NodeTimeout(4*time.Minute))
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		eventually(ctx, func(o Gomega) {
			text, err := shop.Pods().Logs(ctx, pod, 1, false)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(json.Valid([]byte(text))).To(BeTrue(), text)
		})
		Expect(runs(ctx, shop)).To(Equal(before), "no server was restarted")
		since := time.Now()
		Expect(shop.Servers().Kill(ctx, pod)).To(Succeed()) // its log has a lot to say
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		text, err := shop.Pods().LogsSince(ctx, pod, since)
		Expect(err).NotTo(HaveOccurred())
		subsystems := map[any]int{}
		for line := range strings.Lines(text) {
			var record map[string]any
			Expect(json.Unmarshal([]byte(line), &record)).To(Succeed(), line)
			Expect(record).To(And(HaveKey("time"), HaveKey("level"), HaveKey("msg")), line)
			if record["source"] == "mariadbd" {
				subsystems[record["subsystem"]]++
			}
		}
		progress("lines of mariadbd by subsystem: %v", subsystems)
		Expect(subsystems["WSREP"]).To(BeNumerically(">", 50))
		Expect(subsystems["InnoDB"]).To(BeNumerically(">", 3))
		expectJSON(ctx)
	}, SpecTimeout(10*time.Minute))
})

// expectJSON checks what the operator has said.
func expectJSON(ctx context.Context) {
	GinkgoHelper()
	text, err := kube.Operator().Logs(ctx)
	Expect(err).NotTo(HaveOccurred())
	for line := range strings.Lines(text) {
		Expect(json.Valid([]byte(line))).To(BeTrue(), line)
	}
}
