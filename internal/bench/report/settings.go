package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// differences are the settings in which what is compared by its name alone was not the same.
func differences(a, b Benchmark) []string {
	one, other := &a.Resource.Spec, &b.Resource.Spec
	out := clusters(one.Cluster, other.Cluster)
	out = append(out, differing("client", one.Client, other.Client)...)
	for _, x := range one.Arms {
		for _, y := range other.Arms {
			if x.Name == y.Name {
				out = append(out, differing("arm "+x.Name, x.TLS, y.TLS)...)
			}
		}
	}
	for _, x := range one.Workloads {
		for _, y := range other.Workloads {
			if x.Name == y.Name {
				out = append(out, differing("workload "+x.Name, x, y)...)
			}
		}
	}
	return out
}

// clusters compares private clusters by their settings, and others by their names.
func clusters(a, b v1alpha1.BenchmarkCluster) []string {
	name := func(c v1alpha1.BenchmarkCluster) string {
		if c.Ref == nil {
			return "a private one"
		}
		return c.Ref.Name
	}
	if name(a) != name(b) {
		return []string{fmt.Sprintf("cluster: %s and %s", name(a), name(b))}
	}
	return differing("cluster", a.Template, b.Template)
}

// differing compares two of a kind, setting by setting.
func differing(what string, a, b any) (out []string) {
	one, other := settings(a), settings(b)
	paths := maps.Clone(one)
	maps.Copy(paths, other)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if x, y := one[path], other[path]; x != y {
			out = append(out, fmt.Sprintf("%s, %s: %s and %s", what, path, orNotSet(x), orNotSet(y)))
		}
	}
	return out
}

func orNotSet(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

// settings are all values of one part of a spec, by their paths.
func settings(part any) map[string]string {
	out := map[string]string{}
	var value any
	if text, err := json.Marshal(part); err == nil && json.Unmarshal(text, &value) == nil {
		flatten(out, "", value)
	}
	return out
}

func flatten(out map[string]string, path string, value any) {
	parts, is := value.(map[string]any)
	if !is {
		text, _ := json.Marshal(value) // it was JSON before
		out[path] = string(text)
		return
	}
	for name, part := range parts {
		if path != "" {
			name = path + "." + name
		}
		flatten(out, name, part)
	}
}
