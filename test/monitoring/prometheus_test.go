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
	dir, address := t.TempDir(), freeAddress(t)
	write := func(name string, content any) {
		text, err := yaml.Marshal(content)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	write("rules.yaml", shipped(t))
	write("prometheus.yaml", map[string]any{"global": map[string]any{"evaluation_interval": "1s"},
		"rule_files": []string{"rules.yaml"}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	server.Stderr = t.Output()
	must(t, server.Start())
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	client, err := api.NewClient(api.Config{Address: "http://" + address})
	must(t, err)
	left := []string{"nothing was asked"}
	for len(left) > 0 {
		if ctx.Err() != nil {
			t.Fatalf("not evaluated: %v", left)
		}
		left = notEvaluated(ctx, prometheus.NewAPI(client), len(shipped(t).rules()))
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

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}
