package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatTheGeneratorRefuses: what it does not know is never left out in silence.
func TestWhatTheGeneratorRefuses(t *testing.T) {
	for config, says := range map[string]string{
		"kind: StatefulSet\nmetadata: {name: x}":                                                                     "does not know this kind",
		"kind: ClusterRole\nmetadata: {name: galera-operator-new}":                                                   "has no binding",
		"kind: CustomResourceDefinition\nmetadata: {name: x}":                                                        "no annotations",
		"kind: NetworkPolicy\nmetadata: {name: x}\nspec: {ingress: []}":                                              "0 ingress rules",
		"kind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {minAvailable: 1}":                                    "nothing for the value podDisruptionBudget.maxUnavailable",
		"kind: Deployment\nmetadata: {name: x}\nspec: {template: {spec: {containers: [{name: manager, image: x}]}}}": "has no tag",
	} {
		objects, err := parse([]byte(config))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = templates(objects); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", config, err, says)
		}
	}
}

// TestRightsAreSplit: what is in no namespace stays in a ClusterRole, and nothing is lost.
func TestRightsAreSplit(t *testing.T) {
	inside, outside := split([]any{
		map[string]any{"resources": []any{"secrets", "storageclasses"}, "verbs": []any{"get"}},
		map[string]any{"resources": []any{"pods/log"}, "verbs": []any{"list"}},
		map[string]any{"nonResourceURLs": []any{"/x"}, "verbs": []any{"get"}},
	})
	show := func(rules []any) string {
		text, err := render(object{"rules": rules})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := show(inside); !strings.Contains(got, "secrets") || !strings.Contains(got, "pods/log") ||
		strings.Contains(got, "storageclasses") || len(inside) != 2 {
		t.Errorf("in namespaces:\n%s", got)
	}
	if got := show(outside); !strings.Contains(got, "storageclasses") || !strings.Contains(got, "/x") ||
		strings.Contains(got, "secrets") || len(outside) != 2 {
		t.Errorf("in none:\n%s", got)
	}
}

func TestTemplateText(t *testing.T) {
	text, err := render(object{"a": expression("$.Values.a"), "b": block("b"), "list": []any{"x", "«lines y»"},
		"message": "{{pod}}"})
	if err != nil {
		t.Fatal(err)
	}
	want := `a: {{ $.Values.a }}
{{- with $.Values.b }}
b:
  {{- toYaml . | nindent 2 }}
{{- end }}
list:
- x
{{- include "y" $ | nindent 0 }}
message: '{{ "{{" }}pod}}'
`
	if text != want {
		t.Errorf("got:\n%s\nwant:\n%s", text, want)
	}
}

// TestValuesAreDocumented: each value has a comment and a place in the schema, and the schema knows no other.
func TestValuesAreDocumented(t *testing.T) {
	for name, test := range map[string]struct{ values, schema, says string }{
		"all well":     {"# What it is.\na: 1\n", `{"properties": {"a": {}}}`, ""},
		"no comment":   {"a: 1\n", `{"properties": {"a": {}}}`, "a has no comment"},
		"no schema":    {"# What it is.\na: 1\n", `{"properties": {}}`, "does not know the value a"},
		"no value":     {"# What it is.\na: 1\n", `{"properties": {"a": {}, "b": {}}}`, "knows b, which is no value"},
		"not the path": {"# What it is.\nb: 1\n", `{"properties": {"b": {}}}`, "there is no a"},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"values.yaml": test.values, "values.schema.json": test.schema,
			"Chart.yaml": "version: 0\nappVersion: 0\n", "README.md": "before\n" + tableBegins + "old\n" + tableEnds +
				"\nafter\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		defaults := map[string]any{appVersion: "v1.2.3"}
		switch name {
		case "all well":
			defaults["a"] = 2
		case "not the path":
			defaults["a.b"] = 2
		}
		err := writeValues(dir, defaults)
		if test.says != "" {
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v, want %q", name, err, test.says)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]string{
			"values.yaml": "# What it is.\na: 2\n", "Chart.yaml": "version: 1.2.3\nappVersion: v1.2.3\n",
			"README.md": "before\n" + tableBegins +
				"| value | default | meaning |\n|---|---|---|\n| `a` | `2` | What it is. |\n" + tableEnds + "\nafter\n",
		} {
			if got, _ := os.ReadFile(filepath.Join(dir, file)); string(got) != want {
				t.Errorf("%s is:\n%s\nwant:\n%s", file, got, want)
			}
		}
	}
}

// TestStaleTemplatesGo, and those written by hand stay.
func TestStaleTemplatesGo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"old.yaml": generatedMark + "a", "mine.yaml": "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeTemplates(dir, map[string]string{"new.yaml": "b"}); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if got := strings.Join(names, " "); got != "mine.yaml new.yaml" {
		t.Errorf("there are %s", got)
	}
}
