// Package monitoring holds tests of what config/ has for Prometheus and Grafana: alerts, their runbooks, dashboards.
package monitoring

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

const root = "../.."

// rule is one alert.
type rule struct {
	Alert         string            `json:"alert"`
	Expr          string            `json:"expr"`
	For           string            `json:"for,omitempty"`
	KeepFiringFor string            `json:"keep_firing_for,omitempty"`
	Labels        map[string]string `json:"labels"`
	Annotations   map[string]string `json:"annotations"`
}

// groups is the spec of a PrometheusRule, and the form of a file of rules.
type groups struct {
	Groups []group `json:"groups"`
}

type group struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

func (g groups) rules() (out []rule) {
	for _, one := range g.Groups {
		out = append(out, one.Rules...)
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return text
}

// shipped are the alerts of config/prometheus.
func shipped(t *testing.T) groups {
	t.Helper()
	var object struct{ Spec groups }
	must(t, yaml.Unmarshal(read(t, root, "config", "prometheus", "rules.yaml"), &object))
	if len(object.Spec.rules()) < 20 {
		t.Fatalf("%d alerts only", len(object.Spec.rules()))
	}
	return object.Spec
}

// promtool runs in a folder with these files, and returns what it says.
func promtool(t *testing.T, files map[string]any, args ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		text, is := content.([]byte)
		if !is {
			var err error
			text, err = yaml.Marshal(content)
			must(t, err)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	cmd := exec.Command("promtool", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestMain refuses to run without promtool.
func TestMain(m *testing.M) {
	if _, err := exec.LookPath("promtool"); err != nil {
		fmt.Fprintln(os.Stderr, "these tests need promtool; run: make test-api")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestRulesAreValid(t *testing.T) {
	if out, err := promtool(t, map[string]any{"rules.yaml": shipped(t)}, "check", "rules", "--lint=all", "--lint-fatal",
		"rules.yaml"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	var names []string
	for _, r := range shipped(t).rules() {
		names = append(names, r.Alert)
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) || r.Annotations["summary"] == "" ||
			r.Annotations["description"] == "" {
			t.Errorf("%s needs a severity, a summary and a description: %v %v", r.Alert, r.Labels, r.Annotations)
		}
		if d, err := time.ParseDuration(r.For); err != nil || d < time.Minute {
			t.Errorf("%s: for is %q: at least a minute, or one late scrape is an alarm", r.Alert, r.For)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(shipped(t).rules()) {
		t.Errorf("two alerts of one name: %v", names)
	}
}

// summaries keeps of the annotations what alerts.yaml compares.
func summaries(g groups) groups {
	for _, one := range g.Groups {
		for i := range one.Rules {
			one.Rules[i].Annotations = map[string]string{"summary": one.Rules[i].Annotations["summary"]}
		}
	}
	return g
}

// TestAlertsFireAndClear runs alerts.yaml.
func TestAlertsFireAndClear(t *testing.T) {
	files := map[string]any{"rules.yaml": summaries(shipped(t)), "alerts.yaml": read(t, "alerts.yaml")}
	if out, err := promtool(t, files, "test", "rules", "alerts.yaml"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestEachAlertIsTried: it is seen not to fire, to fire, and, after that, to have cleared. So one that never fires, or
// always, fails alerts.yaml.
func TestEachAlertIsTried(t *testing.T) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				EvalTime  string `json:"eval_time"`
				ExpAlerts []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	must(t, yaml.Unmarshal(read(t, "alerts.yaml"), &file))
	stages := map[string]string{}
	for _, one := range file.Tests {
		for _, at := range one.AlertRuleTest {
			if len(at.ExpAlerts) > 0 {
				stages[at.Alertname] += "!"
			} else {
				stages[at.Alertname] += "."
			}
		}
	}
	for _, r := range shipped(t).rules() {
		if s := stages[r.Alert]; !strings.HasPrefix(s, ".") || !strings.Contains(s, "!") || !strings.HasSuffix(s, ".") {
			t.Errorf("alerts.yaml sees %s: %q; want it silent, then firing (!), then silent", r.Alert, s)
		}
		delete(stages, r.Alert)
	}
	if len(stages) > 0 {
		t.Errorf("alerts.yaml tries alerts that do not exist: %v", stages)
	}
}
