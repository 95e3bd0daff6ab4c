package monitoring

import (
	"regexp"
	"testing"

	"github.com/galera-operator/galera-operator/test/monitoring/queries"
)

// foreign are series of libraries, of Prometheus, and what agents make of the server's own variables: test/e2e sees
// that they are there.
var foreign = regexp.MustCompile(
	`^(ALERTS|process_resident_memory_bytes|leader_election_master_status|controller_runtime_reconcile_total|mysql_global_(status|variables)_[a-z0-9_]+)$`)

var metricName = regexp.MustCompile(
	`"[^"]*"|\b(ALERTS|(?:galera|mysql|process|controller|leader|workqueue|go)_[a-z0-9_]+)\b`)

// series of a histogram have its name, and one of these.
var series = regexp.MustCompile(`_(bucket|sum|count)$`)

// TestMetricsExist: every metric of an alert and of a dashboard is one that an agent or the operator serves.
// docs/metrics.md lists these as the code describes them; test/docs sees to that.
func TestMetricsExist(t *testing.T) {
	known := map[string]bool{"mysql_galera_evs_repl_latency_avg_seconds": true} // it is written there as one of several
	for _, m := range regexp.MustCompile("`((?:galera|mysql)_[a-z0-9_]+)`").
		FindAllSubmatch(read(t, root, "docs", "metrics.md"), -1) {
		known[string(m[1])] = true
	}
	used := map[string]bool{}
	check := func(where, expr string) {
		for _, m := range metricName.FindAllStringSubmatch(expr, -1) {
			if name := m[1]; name != "" { // else it is text in quotes
				used[name] = true
				if !known[name] && !known[series.ReplaceAllString(name, "")] && !foreign.MatchString(name) {
					t.Errorf("%s: nothing serves %s", where, name)
				}
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
