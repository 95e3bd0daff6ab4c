package web

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestDashboardShowsWhatThereIs: every metric of the dashboard for benchmarks is one that agents write.
func TestDashboardShowsWhatThereIs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "grafana", "benchmark.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := serving()
	r.Join = &agentapi.Join{}
	r.TLS.Channels = map[string]agentapi.ChannelFact{"replication": {}}
	var out strings.Builder
	writeMetrics(&out, r, map[string]float64{"wsrep_replicated_bytes": 1, "wsrep_flow_control_paused_ns": 1, "wsrep_local_cert_failures": 1, "wsrep_local_bf_aborts": 1})
	writeUsage(&out, r, func() (float64, bool) { return 1, true })
	used := regexp.MustCompile(`\b(galera_[a-z_]+)\{`).FindAllStringSubmatch(string(text), -1)
	if len(used) < 10 {
		t.Fatalf("only %d metrics were found", len(used))
	}
	for _, m := range used {
		if !strings.Contains(out.String(), m[1]+" ") && !strings.Contains(out.String(), m[1]+"{") {
			t.Errorf("no agent writes %s", m[1])
		}
	}
}

// TestDashboardKnowsNoPace: how often agents are asked is Prometheus' to say, and a rate over a time with one answer is no rate.
func TestDashboardKnowsNoPace(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "grafana", "benchmark.json"))
	if err != nil {
		t.Fatal(err)
	}
	rates := regexp.MustCompile(`\brate\([^\[]*\[([^\]]*)\]`).FindAllStringSubmatch(string(text), -1)
	if len(rates) < 6 {
		t.Fatalf("only %d rates were found", len(rates))
	}
	for _, r := range rates {
		if r[1] != "$__rate_interval" {
			t.Errorf("a rate over %s", r[1])
		}
	}
}
