package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// object is one Kubernetes object as it stands in YAML.
type object map[string]any

func (o object) kind() string { s, _ := o["kind"].(string); return s }

func (o object) name() string { s, _ := o.at("metadata", "name").(string); return s }

// at follows a path of keys and returns nil where it ends early. "NAME=VALUE" chooses the element of a list.
func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, key := range path {
		switch t := v.(type) {
		case map[string]any:
			v = t[key]
		case []any:
			v = element(t, key)
		default:
			return nil
		}
	}
	return v
}

func element(list []any, selector string) any {
	key, value, _ := strings.Cut(selector, "=")
	for _, e := range list {
		if m, ok := e.(map[string]any); ok && fmt.Sprint(m[key]) == value {
			return m
		}
	}
	return nil
}

// set replaces the value at a path whose parent exists.
func (o object) set(value any, path ...string) error {
	parent, ok := o.at(path[:len(path)-1]...).(map[string]any)
	if !ok {
		return fmt.Errorf("there is no %s", strings.Join(path[:len(path)-1], "."))
	}
	parent[path[len(path)-1]] = value
	return nil
}

// ownNames are the names that begin with the chart's full name: of every object, and of the Secrets that certificates
// bring.
func ownNames(objects []object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.name())
		if secret, ok := o.at("spec", "secretName").(string); ok {
			out = append(out, secret)
		}
	}
	return slices.DeleteFunc(out, func(n string) bool {
		return !strings.HasPrefix(n, configName+"-") ||
			n == configNamespace
	})
}

// What the names and the namespace in config/ are made of.
const (
	configName      = "galera-operator"
	configNamespace = "galera-operator-system"
)

// A token stands for a template expression while the object is a value; tokens survive being written as YAML.
var token = regexp.MustCompile(`«([^»]*)»`)

func expression(e string) string { return "«" + e + "»" }

// block stands for a list or map of values.yaml, written in place of a value: nothing at all where it is empty.
func block(value string) string { return "«block " + value + "»" }

// localise replaces names and the namespace by what the release calls them, everywhere in a value.
func localise(v any, names []string) any {
	switch t := v.(type) {
	case map[string]any:
		for k := range t {
			t[k] = localise(t[k], names)
		}
	case []any:
		for i := range t {
			t[i] = localise(t[i], names)
		}
	case string:
		switch {
		case t == configNamespace:
			return expression("$.Release.Namespace")
		case slices.Contains(names, t):
			return expression(fullname) + strings.TrimPrefix(t, configName)
		}
	}
	return v
}

var (
	labelsLine = regexp.MustCompile(`(?m)^( *)«labels»: .*$`)
	moreLine   = regexp.MustCompile(`(?m)^( *)«more ([^»]*)»: .*$`)
	itemsLine  = regexp.MustCompile(`(?m)^( *)- «items ([^»]*)»$`)
	linesLine  = regexp.MustCompile(`(?m)^( *)- «lines ([^»]*)»$`)
	blockLine  = regexp.MustCompile(`(?m)^( *)([A-Za-z]+): «block ([^»]*)»$`)
)

// render writes an object as a template. Braces of its own text are kept from Helm.
func render(o object) (string, error) {
	out, err := yaml.Marshal(map[string]any(o))
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(out), "{{", `{{ "{{" }}`)
	sub := func(re *regexp.Regexp, f func(m []string) string) {
		text = re.ReplaceAllStringFunc(text, func(s string) string { return f(re.FindStringSubmatch(s)) })
	}
	sub(labelsLine, func(m []string) string {
		return fmt.Sprintf("%s{{- include \"galera-operator.labels\" $ | nindent %d }}", m[1], len(m[1]))
	})
	sub(moreLine, func(m []string) string {
		return fmt.Sprintf("%[1]s{{- with $.Values.%[2]s }}\n%[1]s{{- toYaml . | nindent %[3]d }}\n%[1]s{{- end }}", m[1],
			m[2], len(m[1]))
	})
	sub(itemsLine, func(m []string) string {
		return fmt.Sprintf("%[1]s{{- with $.Values.%[2]s }}\n%[1]s{{- toYaml . | nindent %[3]d }}\n%[1]s{{- end }}", m[1],
			m[2], len(m[1]))
	})
	sub(linesLine, func(m []string) string {
		return fmt.Sprintf("%s{{- include \"%s\" $ | nindent %d }}", m[1], m[2], len(m[1]))
	})
	sub(blockLine, func(m []string) string {
		return fmt.Sprintf(
			"%[1]s{{- with $.Values.%[2]s }}\n%[1]s%[3]s:\n%[1]s  {{- toYaml . | nindent %[4]d }}\n%[1]s{{- end }}",
			m[1], m[3], m[2], len(m[1])+2)
	})
	text = token.ReplaceAllString(text, "{{ $1 }}")
	return text, nil
}
