package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const monitored = `
crds: {install: false}
metrics:
  serviceMonitor: {enabled: true}
  podMonitors: {enabled: true}
  prometheusRules: {enabled: true}
  dashboards: {enabled: true}
`

// TestMonitoringIsConfigs: monitors and alerts of the chart are those of config/prometheus, dashboards those of
// config/grafana.
func TestMonitoringIsConfigs(t *testing.T) {
	all := render(t, monitored)
	seen := 0
	for _, part := range []string{"prometheus", "grafana"} {
		out, err := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "kustomize",
			"../../config/"+part).Output()
		must(t, err)
		for _, want := range parse(t, out) {
			seen++
			got := all.named(want.kind(), want.at("metadata.name").(string))
			if got == nil {
				t.Errorf("the chart has no %s", want.id())
				continue
			}
			a, b := inEffect(want), inEffect(got)
			for _, path := range differences("", a, b) {
				x, y := fmt.Sprint(object(a.(map[string]any)).at(path)), fmt.Sprint(object(b.(map[string]any)).at(path))
				if strings.TrimSpace(x) != strings.TrimSpace(y) { // the last line of a document may have lost its end
					t.Errorf("%s: %s differs", want.id(), path)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("config has %d objects only", seen)
	}
}

// TestMonitoringIsAdmitted by the CRDs of the Prometheus operator, nothing of it pruned; and without them the chart
// installs all else.
func TestMonitoringIsAdmitted(t *testing.T) {
	const name = "monitored"
	t.Cleanup(func() { uninstall(t, name, namespace) })
	unknownToTheServer(t)
	helmOn(t, "{crds: {install: false}, metrics: {dashboards: {enabled: true}}}", "install", name, folder,
		"--create-namespace", "--values", "-")
	uninstall(t, name, namespace)
	if _, err := helm(monitored, "install", name, folder, "--namespace", namespace, "--create-namespace", "--values",
		"-"); err == nil {
		t.Error("it was installed without the CRDs of the Prometheus operator")
	}
	_, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{Paths: []string{prometheusOperatorCRDs(t)},
		ErrorIfPathMissing: true, MaxTime: 2 * time.Minute})
	must(t, err)
	helmOn(t, monitored, "upgrade", "--install", name, folder, "--create-namespace", "--values", "-")
	out, err := helm("", "get", "manifest", name, "--namespace", namespace)
	must(t, err)
	seen := 0
	for _, want := range parse(t, out) {
		if want["apiVersion"] != "monitoring.coreos.com/v1" {
			continue
		}
		seen++
		got := &unstructured.Unstructured{Object: map[string]any{"apiVersion": want["apiVersion"], "kind": want["kind"]}}
		must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: want.at("metadata.name").(string)}, got))
		if a, b := want["spec"], got.Object["spec"]; !holds(plainJSON(t, b), plainJSON(t, a)) {
			t.Errorf("%s: the API server keeps another spec:\n%v\n%v", want.id(), a, b)
		}
	}
	if seen != 3 {
		t.Errorf("%d objects of the Prometheus operator's kinds", seen)
	}
}

// unknownToTheServer makes sure that the API server has none of the Prometheus operator's kinds: what is installed now
// does without them.
func unknownToTheServer(t *testing.T) {
	t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "monitoring.coreos.com/v1",
		"kind": "PodMonitorList"}}
	if err := kube.List(t.Context(), list); !meta.IsNoMatchError(err) {
		t.Fatalf("the API server knows PodMonitors: %v", err)
	}
}

// TestNothingNeedsPrometheus: unless its values are set, no object of the chart, and none of config/default, which
// install.yaml is made of, is of a kind of the Prometheus operator, or names its group, as a role would.
func TestNothingNeedsPrometheus(t *testing.T) {
	out, err := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "kustomize",
		"../../config/default").Output()
	must(t, err)
	for from, all := range map[string]objects{"config/default": parse(t, out),
		"the chart": render(t, "{metrics: {dashboards: {enabled: true}}}")} {
		if len(all) < 15 {
			t.Errorf("%s has %d objects only", from, len(all))
		}
		for _, o := range all {
			text, err := json.Marshal(o)
			must(t, err)
			if strings.Contains(string(text), "monitoring.coreos.com") {
				t.Errorf("%s: %s needs the Prometheus operator", from, o.id())
			}
		}
	}
}

// holds reports whether all of want is in got, which may have defaults alongside it.
func holds(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for key, v := range w {
			ok = ok && holds(g[key], v)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(g) == len(w)
		for i := range w {
			ok = ok && holds(g[i], w[i])
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}

// plainJSON gives numbers one type.
func plainJSON(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	must(t, json.Unmarshal(text, &out))
	return out
}

// prometheusOperatorCRDs is the folder of its module with them, in the version of the local cluster.
func prometheusOperatorCRDs(t *testing.T) string {
	t.Helper()
	versions, err := os.ReadFile("../../hack/versions.env")
	must(t, err)
	m := regexp.MustCompile(`(?m)^PROMETHEUS_OPERATOR_VERSION=(.*)$`).FindSubmatch(versions)
	cmd := exec.Command("go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator@"+
		string(m[1]))
	cmd.Dir = t.TempDir() // it is no module of ours
	out, err := cmd.Output()
	must(t, err)
	var module struct{ Dir string }
	must(t, json.Unmarshal(out, &module))
	return filepath.Join(module.Dir, "example", "prometheus-operator-crd")
}
