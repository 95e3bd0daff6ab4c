package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const dashboards = "../../../config/grafana"

// TestDashboardsShowExportedMetrics: every metric of ours in a dashboard is one that agents serve. Those of the
// operator and of proxies have tests of their own.
func TestDashboardsShowExportedMetrics(t *testing.T) {
	known := names()
	files, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		used := regexp.MustCompile(`\b(galera_[a-z_]+)\{`).FindAllStringSubmatch(string(text), -1)
		for _, m := range used {
			if !known[m[1]] && !strings.HasPrefix(m[1], "galera_operator_") && !strings.HasPrefix(m[1], "galera_proxy_") {
				t.Errorf("%s: no agent serves %s", file, m[1])
			}
		}
	}
}

// TestDashboardAssumesNoScrapeInterval: how often agents are asked is configured in Prometheus, and a rate over a time
// with one answer is no rate.
func TestDashboardAssumesNoScrapeInterval(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dashboards, "benchmark.json"))
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
