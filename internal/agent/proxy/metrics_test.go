package proxy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestMetrics: Prometheus reads the text, and what is not known has no series.
func TestMetrics(t *testing.T) {
	s := state()
	cpu, memory := 2.5, 3e7
	f := facts{cpuSeconds: &cpu, memoryBytes: &memory, state: &s, heard: time.Unix(1.8e9, 0), report: agentapi.ProxyReport{
		Revision: 3, Version: "2.7.1", Clients: 7, Waiting: 2, TimedOut: 11,
		Nodes: []agentapi.ProxyPool{{Name: "shop-0", Used: 4, Free: 1,
			Backend: agentapi.ChannelFact{Observed: agentapi.ObservedTLS}}, {Name: "shop-1",
			Backend: agentapi.ChannelFact{Observed: agentapi.ObservedPlaintext}}, {Name: "shop-2"}}}}
	text := f.text()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || len(families) != len(Families()) {
		t.Fatalf("%d families: %v\n%s", len(families), err, text)
	}
	for _, want := range []string{`galera_proxy_info{version="2.7.1",mode="ReadWriteSplit"} 1`, "galera_proxy_ready 1",
		"galera_proxy_has_writer 1", "galera_proxy_state_received_timestamp_seconds 1.8e+09", "galera_proxy_clients 7",
		"galera_proxy_waiting_clients 2",
		"# TYPE galera_proxy_timed_out_statements_total counter", "galera_proxy_timed_out_statements_total 11",
		"galera_proxy_max_clients 2048", `galera_proxy_node_connections{node="shop-0",state="used"} 4`,
		"galera_proxy_max_node_connections 50", `galera_proxy_node_encrypted{node="shop-0"} 1`,
		`galera_proxy_node_encrypted{node="shop-1"} 0`, "# TYPE galera_proxy_cpu_seconds_total counter",
		"galera_proxy_cpu_seconds_total 2.5", "# TYPE galera_proxy_memory_bytes gauge", "galera_proxy_memory_bytes 3e+07"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
	if strings.Contains(text, `galera_proxy_node_encrypted{node="shop-2"}`) {
		t.Error("a node that was not asked is reported")
	}
	s.Nodes[0].Writer, f.report.Problem = false, "starting"
	if text = f.text(); !strings.Contains(text, "\ngalera_proxy_has_writer 0\n") ||
		!strings.Contains(text, "\ngalera_proxy_ready 0\n") {
		t.Errorf("without a writer:\n%s", text)
	}
	f.memoryBytes = nil
	if strings.Contains(f.text(), "\ngalera_proxy_memory_bytes ") {
		t.Error("memory without a counter")
	}
	s.Mode = agentapi.ProxyReadOnly
	if strings.Contains(f.text(), "\ngalera_proxy_has_writer ") {
		t.Error("a proxy for reads has no writer to miss")
	}
}

// TestDashboardShowsExportedMetrics: every metric of proxies in the dashboard is one that they serve.
func TestDashboardShowsExportedMetrics(t *testing.T) {
	text, err := os.ReadFile("../../../config/grafana/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`\b(galera_proxy_[a-z_]+)\{`).FindAllStringSubmatch(string(text), -1)
	if len(used) == 0 {
		t.Error("the dashboard shows none")
	}
	for _, m := range used {
		if !slices.ContainsFunc(Families(), func(f Family) bool { return f.Name == m[1] }) {
			t.Errorf("no proxy serves %s", m[1])
		}
	}
}
