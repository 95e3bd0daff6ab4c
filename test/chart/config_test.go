package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDefaultsAreConfigDefault: with default values, the chart installs what `kubectl apply -k config/default` does.
func TestDefaultsAreConfigDefault(t *testing.T) {
	out, err := exec.Command(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl"), "kustomize",
		"../../config/default").Output()
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]object{}, map[string]object{}
	for _, o := range parse(t, out) {
		if o.kind() != "Namespace" { // helm install --create-namespace
			want[o.id()] = o
		}
	}
	for _, o := range render(t, "") {
		got[o.id()] = o
	}
	if len(want) < 15 {
		t.Errorf("config/default has %d objects only", len(want))
	}
	for id := range got {
		if want[id] == nil {
			t.Errorf("config/default has no %s", id)
		}
	}
	for id, o := range want {
		if got[id] == nil {
			t.Errorf("the chart has no %s", id)
			continue
		}
		a, b := inEffect(o), inEffect(got[id])
		for _, path := range differences("", a, b) {
			t.Errorf("%s: %s differs: %v in config/default, %v in the chart", id, path, object(a.(map[string]any)).at(path),
				object(b.(map[string]any)).at(path))
		}
	}
}

// inEffect leaves out what has none: labels that report where an object comes from, and maps without keys.
func inEffect(o object) any {
	out := prune(map[string]any(o)).(map[string]any)
	meta := out["metadata"].(map[string]any)
	for _, part := range []string{"labels", "annotations"} {
		m, _ := meta[part].(map[string]any)
		for k := range m {
			if strings.HasPrefix(k, "helm.sh/") || slices.Contains([]string{"name", "instance", "version", "managed-by"},
				strings.TrimPrefix(k, "app.kubernetes.io/")) {
				delete(m, k)
			}
		}
		if len(m) == 0 {
			delete(meta, part)
		}
	}
	return out
}

func prune(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k, e := range t {
			if t[k] = prune(e); e == nil {
				delete(t, k)
			}
		}
	case []any:
		for i := range t {
			t[i] = prune(t[i])
		}
	}
	return v
}

// differences are the paths at which two values differ, no deeper than maps go.
func differences(path string, a, b any) []string {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if !isX || !isY {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{path}
	}
	var out []string
	keys := map[string]bool{}
	for k := range x {
		keys[k] = true
	}
	for k := range y {
		keys[k] = true
	}
	for k := range keys {
		out = append(out, differences(strings.TrimPrefix(path+"."+strings.ReplaceAll(k, ".", "·"), "."), x[k], y[k])...)
	}
	return out
}

// TestReferencesMeet: under any name, whatever an object of the release points at is there.
func TestReferencesMeet(t *testing.T) {
	long := strings.Repeat("a", 53)
	for _, test := range []struct{ release, values string }{
		{"galera-operator", ""},
		{"db", ""},
		{"db", "{watchNamespaces: [one, two]}"},
		{"db", "{fullnameOverride: galera}"},
		{"db", "{serviceAccount: {name: someone}}"},
		{long, "{metrics: {podMonitors: {enabled: true}, serviceMonitor: {enabled: true}}}"},
	} {
		out, err := helm(test.values, "template", test.release, folder, "--namespace", "elsewhere", "--values", "-")
		if err != nil {
			t.Fatal(err)
		}
		all := parse(t, out)
		ids := map[string]bool{}
		for _, o := range all {
			if ids[o.id()] {
				t.Errorf("%s with %s: two of %s", test.release, test.values, o.id())
			}
			ids[o.id()] = true
			if name := o.at("metadata.name").(string); len(name) > 63 {
				t.Errorf("%s with %s: %s has a name of %d characters", test.release, test.values, o.id(), len(name))
			}
		}
		if strings.Contains(string(out), "galera-operator-system") {
			t.Errorf("%s: the namespace of config/ is left in the templates", test.release)
		}
		secrets := map[any]bool{}
		for _, o := range all.of("Certificate") {
			secrets[o.at("spec.secretName")] = true
			if all.named("Issuer", o.at("spec.issuerRef.name").(string)) == nil {
				t.Errorf("%s has no issuer", o.id())
			}
		}
		for _, o := range all.of("Issuer") {
			if s := o.at("spec.ca.secretName"); s != nil && !secrets[s] {
				t.Errorf("no certificate brings the Secret of %s", o.id())
			}
		}
		deployment := all.of("Deployment")[0]
		for _, o := range all.of("Deployment") {
			if strings.HasSuffix(o.at("metadata.name").(string), "-controller-manager") {
				deployment = o
			}
		}
		if s := deployment.at("spec.template.spec.volumes.0.secret.secretName"); !secrets[s] {
			t.Errorf("no certificate brings the Secret %v, which the operator mounts", s)
		}
		account := deployment.at("spec.template.spec.serviceAccountName").(string)
		if all.named("ServiceAccount", account) == nil {
			t.Errorf("there is no service account %s", account)
		}
		bindings := append(all.of("RoleBinding"), all.of("ClusterRoleBinding")...)
		for _, o := range bindings {
			of := account
			if strings.Contains(o.at("metadata.name").(string), "-benchmarks") {
				of = strings.TrimSuffix(deployment.at("metadata.name").(string), "controller-manager") + "benchmarks"
			}
			if o.at("subjects.0.name") != of || o.at("subjects.0.namespace") != "elsewhere" {
				t.Errorf("%s is not that of %s: %v", o.id(), of, o["subjects"])
			}
			role := object{"kind": o.at("roleRef.kind"), "metadata": map[string]any{"name": o.at("roleRef.name"),
				"namespace": o.at("metadata.namespace")}}
			if !ids[role.id()] {
				t.Errorf("%s: there is no %s", o.id(), role.id())
			}
		}
		if len(bindings) < 3 {
			t.Errorf("%d bindings only", len(bindings))
		}
	}
}
