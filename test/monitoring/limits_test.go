package monitoring

import (
	"strings"
	"testing"
)

// TestMonitorsLimitSeries: whatever a node serves, Prometheus takes a bounded number of its series, with bounded
// labels.
func TestMonitorsLimitSeries(t *testing.T) {
	monitors := 0
	for _, path := range [][]string{
		{"config", "prometheus", "databases.yaml"}, {"config", "prometheus", "manager.yaml"},
		{"charts", "galera-operator", "templates", "pod-monitors.yaml"},
		{"charts", "galera-operator", "templates", "service-monitor.yaml"},
	} {
		text := string(read(t, append([]string{root}, path...)...))
		n := strings.Count(text, "\nkind: PodMonitor") + strings.Count(text, "\nkind: ServiceMonitor")
		monitors += n
		for _, limit := range []string{"\n  sampleLimit: ", "\n  labelLimit: ", "\n  labelValueLengthLimit: "} {
			if got := strings.Count(text, limit); got != n {
				t.Errorf("%s: %d monitors and %d times%q", strings.Join(path, "/"), n, got, limit)
			}
		}
	}
	if monitors != 4 {
		t.Errorf("%d monitors were found", monitors)
	}
}
