package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// appVersion is the path, among the defaults, of the version in Chart.yaml.
const appVersion = "Chart.yaml appVersion"

// writeValues sets in values.yaml what config/ decides, the application's version in Chart.yaml, and the table in
// README.md. Every value must have a comment, and a place in values.schema.json.
func writeValues(chart string, defaults map[string]any) error {
	version, _ := defaults[appVersion].(string)
	delete(defaults, appVersion)
	if err := writeVersion(filepath.Join(chart, "Chart.yaml"), version); err != nil {
		return err
	}
	name := filepath.Join(chart, "values.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	for path, value := range defaults {
		if err := setDefault(doc.Content[0], strings.Split(path, "."), value); err != nil {
			return fmt.Errorf("values.yaml: %s: %w", path, err)
		}
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return err
	}
	if err := os.WriteFile(name, spaced(out.Bytes()), 0o644); err != nil {
		return err
	}
	rows, err := table(doc.Content[0], "", defaults)
	if err != nil {
		return err
	}
	if err := checkSchema(filepath.Join(chart, "values.schema.json"), rows); err != nil {
		return err
	}
	return writeReadme(filepath.Join(chart, "README.md"), rows)
}

// spaced puts an empty line before every key that begins a line, or its comment: an encoder drops them.
func spaced(text []byte) []byte {
	var out []string
	for line := range strings.Lines(string(text)) {
		begins := !strings.HasPrefix(line, " ") && line != "\n"
		if begins && len(out) > 0 && !strings.HasPrefix(out[len(out)-1], "#") && out[len(out)-1] != "\n" {
			out = append(out, "\n")
		}
		out = append(out, line)
	}
	return []byte(strings.Join(out, ""))
}

// writeVersion makes the tag in config/ the chart's appVersion.
func writeVersion(name, version string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for key, value := range map[string]string{"version": strings.TrimPrefix(version, "v"), "appVersion": version} {
		line := regexp.MustCompile(`(?m)^` + key + `: .*$`)
		if !line.Match(text) {
			return fmt.Errorf("%s has no %s", name, key)
		}
		text = line.ReplaceAll(text, []byte(key+": "+value))
	}
	return os.WriteFile(name, text, 0o644)
}

// child returns the value of a key in a map, nil without it.
func child(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func setDefault(m *yaml.Node, path []string, value any) error {
	for _, key := range path[:len(path)-1] {
		if m = child(m, key); m == nil {
			return fmt.Errorf("there is no %s", key)
		}
	}
	old := child(m, path[len(path)-1])
	if old == nil {
		return fmt.Errorf("add it, with a comment that describes what it is")
	}
	var is yaml.Node
	// By way of JSON: numbers of sigs.k8s.io/yaml are floats.
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, &is); err != nil {
		return err
	}
	block := is.Content[0]
	plain(block)
	*old = *block
	return nil
}

// plain takes JSON's style from a node.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

// row is a value that can be set.
type row struct{ path, standard, meaning string }

// table lists the values: those that config/ decides and those of no further keys are one row each.
func table(m *yaml.Node, prefix string, defaults map[string]any) ([]row, error) {
	var out []row
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		path := prefix + key.Value
		if _, leaf := defaults[path]; value.Kind == yaml.MappingNode && len(value.Content) > 0 && !leaf {
			rows, err := table(value, path+".", defaults)
			if err != nil {
				return nil, err
			}
			out = append(out, rows...)
			continue
		}
		if key.HeadComment == "" {
			return nil, fmt.Errorf("values.yaml: %s has no comment", path)
		}
		var v any
		if err := value.Decode(&v); err != nil {
			return nil, err
		}
		standard, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(key.HeadComment, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(strings.TrimPrefix(lines[i], "#"))
		}
		out = append(out, row{path, string(standard), strings.Join(lines, " ")})
	}
	return out, nil
}

// checkSchema compares the schema with the values: each must know all of the other's.
func checkSchema(name string, rows []row) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	paths := []string{"global"} // what a parent chart has for all of its charts
	for _, r := range rows {
		paths = append(paths, r.path)
		if !hasProperty(schema, strings.Split(r.path, ".")) {
			return fmt.Errorf("%s does not know the value %s", name, r.path)
		}
	}
	return onlyProperties(name, schema, "", paths)
}

func hasProperty(schema map[string]any, path []string) bool {
	for _, key := range path {
		properties, _ := schema["properties"].(map[string]any)
		if schema, _ = properties[key].(map[string]any); schema == nil {
			return false
		}
	}
	return true
}

// onlyProperties finds properties that are no value; it looks no deeper than the values do.
func onlyProperties(name string, schema map[string]any, prefix string, paths []string) error {
	properties, _ := schema["properties"].(map[string]any)
	for key, v := range properties {
		path := prefix + key
		if slices.Contains(paths, path) {
			continue
		}
		if !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, path+".") }) {
			return fmt.Errorf("%s knows %s, which is no value", name, path)
		}
		inner, _ := v.(map[string]any)
		if err := onlyProperties(name, inner, path+".", paths); err != nil {
			return err
		}
	}
	return nil
}

const (
	tableBegins = "<!-- values: generated by `make chart` -->\n"
	tableEnds   = "<!-- end of values -->"
)

func writeReadme(name string, rows []row) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !ok || !ends {
		return fmt.Errorf("%s has no place for the table: %q to %q", name, tableBegins, tableEnds)
	}
	var b strings.Builder
	b.WriteString(before + tableBegins + "| value | default | meaning |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.path, strings.ReplaceAll(r.standard, "|", `\|`),
			strings.ReplaceAll(r.meaning, "|", `\|`))
	}
	b.WriteString(tableEnds + after)
	return os.WriteFile(name, []byte(b.String()), 0o644)
}
