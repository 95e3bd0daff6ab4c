package monitoring

import (
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/galera-operator/galera-operator/controllers/galerabackup"
	"github.com/galera-operator/galera-operator/controllers/galerabackupschedule"
	"github.com/galera-operator/galera-operator/controllers/galeracluster"
	"github.com/galera-operator/galera-operator/internal/agent/metrics"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/test/monitoring/queries"
)

// foreign are series of libraries, of Prometheus, and of the operator's program, that no collector below describes.
var foreign = regexp.MustCompile(`^(ALERTS|process_resident_memory_bytes|leader_election_master_status|controller_runtime_reconcile_(errors_)?total|galera_operator_build_info)$`)

// database are metrics that agents make of the server's own variables: test/e2e sees that they are there.
var database = regexp.MustCompile(`^mysql_(global_(status|variables)|galera)_[a-z0-9_]+$`)

var metricName = regexp.MustCompile(`"[^"]*"|\b(ALERTS|(?:galera|mysql|process|controller|leader|workqueue|go)_[a-z0-9_]+)\b`)

// TestMetricsExist: every metric of an alert and of a dashboard is one that an agent or the operator serves.
func TestMetricsExist(t *testing.T) {
	known := served(t)
	used := map[string]bool{}
	check := func(where, expr string) {
		for _, m := range metricName.FindAllStringSubmatch(expr, -1) {
			if m[1] == "" { // text in quotes
				continue
			}
			used[m[1]] = true
			if !known[series.ReplaceAllString(m[1], "")] && !known[m[1]] && !foreign.MatchString(m[1]) && !database.MatchString(m[1]) {
				t.Errorf("%s: nothing serves %s", where, m[1])
			}
		}
	}
	for _, r := range shipped(t).rules() {
		check(r.Alert, r.Expr)
	}
	for _, file := range dashboards(t) {
		found, err := queries.Of(read(t, file))
		must(t, err)
		for _, q := range found {
			check(file+": "+q.Panel, q.Expr)
		}
	}
	if len(used) < 50 {
		t.Errorf("%d metrics only were found", len(used))
	}
}

// series of a histogram have its name, and one of these.
var series = regexp.MustCompile(`_(bucket|sum|count)$`)

var described = regexp.MustCompile(`fqName: "([^"]*)"`)

// served are the names of the metrics that our collectors describe.
func served(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range append(metrics.NodeFamilies(), metrics.ArbitratorFamilies()...) {
		out[f.Name] = true
	}
	for _, c := range []prometheus.Collector{galeracluster.NewMetrics(), observe.NewAgentClient(nil).Requests, galerabackup.Metrics{}, galerabackupschedule.Metrics{}} {
		descs := make(chan *prometheus.Desc)
		go func() { c.Describe(descs); close(descs) }()
		for d := range descs {
			out[described.FindStringSubmatch(d.String())[1]] = true
		}
	}
	return out
}
