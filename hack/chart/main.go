// Command chart writes what the Helm chart shares with config/ into the chart's folder, so that both have one source:
//
//	kustomize build config/default | go run ./hack/chart -chart charts/galera-operator -monitors config/prometheus -dashboards config/grafana
//
// It generates templates (the CRDs, RBAC, Deployment, certificates, network policy, monitors, alerts), sets the
// defaults in values.yaml that config/ decides, copies the dashboards, and writes the table of values in README.md.
// Everything else in the chart is written by hand.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	chart := flag.String("chart", "charts/galera-operator", "folder of the chart")
	monitors := flag.String("monitors", "config/prometheus", "folder with the PodMonitors and alerts")
	dashboards := flag.String("dashboards", "config/grafana", "folder with the dashboards")
	flag.Parse()
	err := run(*chart, *monitors, os.Stdin)
	if err == nil {
		err = copyDashboards(*dashboards, filepath.Join(*chart, "dashboards"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(chart, monitors string, config io.Reader) error {
	text, err := io.ReadAll(config)
	if err != nil {
		return err
	}
	objects, err := parse(text)
	if err != nil {
		return err
	}
	more, err := readMonitors(monitors)
	if err != nil {
		return err
	}
	objects = append(objects, more...)
	files, defaults, err := templates(objects)
	if err != nil {
		return err
	}
	if err := writeTemplates(filepath.Join(chart, "templates"), files); err != nil {
		return err
	}
	return writeValues(chart, defaults)
}

// readMonitors returns the objects of a folder, its kustomization left out.
func readMonitors(folder string) ([]object, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []object
	for _, name := range names {
		if filepath.Base(name) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		objects, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// parse splits a stream of YAML documents.
func parse(text []byte) ([]object, error) {
	var out []object
	for _, doc := range separator.Split(string(text), -1) {
		var o object
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

// generatedMark is the first line of every generated template: files with it that are no longer generated are removed.
const generatedMark = "{{- /* Generated from config/ by `make chart`; do not edit. */ -}}\n"

func writeTemplates(folder string, files map[string]string) error {
	old, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, name := range old {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, again := files[filepath.Base(name)]; !again && bytes.HasPrefix(text, []byte(generatedMark)) {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(generatedMark+text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// templates returns the generated files by name, and the defaults of values.yaml by path.
func templates(objects []object) (map[string]string, map[string]any, error) {
	g := &generator{files: map[string]string{}, defaults: map[string]any{}, names: ownNames(objects)}
	slices.SortStableFunc(objects, func(a, b object) int {
		return strings.Compare(a.kind()+"/"+a.name(),
			b.kind()+"/"+b.name())
	})
	if err := g.rbac(objects); err != nil {
		return nil, nil, err
	}
	for _, o := range objects {
		if err := g.add(o); err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", o.kind(), o.name(), err)
		}
	}
	return g.files, g.defaults, nil
}
