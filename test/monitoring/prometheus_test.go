package monitoring

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"sigs.k8s.io/yaml"
)

// TestPrometheusLoadsTheAlerts: a real one takes them, and evaluates each without an error. Where they fire is seen on
// a real Kubernetes, by test/e2e.
func TestPrometheusLoadsTheAlerts(t *testing.T) {
	text, err := yaml.Marshal(shipped(t))
	must(t, err)
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	must(t, os.WriteFile(rules, text, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	from := startPrometheus(t, map[string]any{"global": map[string]any{"evaluation_interval": "1s"},
		"rule_files": []string{rules}})
	left := []string{"nothing was asked"}
	for len(left) > 0 {
		if ctx.Err() != nil {
			t.Fatalf("not evaluated: %v", left)
		}
		left = notEvaluated(ctx, from, len(shipped(t).rules()))
		<-time.After(100 * time.Millisecond)
	}
}

// notEvaluated describes what keeps the alerts from having been evaluated without an error.
func notEvaluated(ctx context.Context, from prometheus.API, want int) (out []string) {
	loaded, err := from.Rules(ctx, nil)
	if err != nil {
		return []string{err.Error()}
	}
	for _, g := range loaded.Groups {
		for _, r := range g.Rules {
			want--
			if alert, ok := r.(prometheus.AlertingRule); !ok || alert.Health != prometheus.RuleHealthGood {
				out = append(out, alert.Name+" "+string(alert.Health)+" "+alert.LastError)
			}
		}
	}
	if want != 0 {
		out = append(out, "there are other alerts")
	}
	return out
}

// startPrometheus starts one with this configuration, until the test ends.
func startPrometheus(t *testing.T, config map[string]any) prometheus.API {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	text, err := yaml.Marshal(config)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), text, 0o600))
	server := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	server.Stderr = t.Output()
	must(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	must(t, err)
	return prometheus.NewAPI(client)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}
