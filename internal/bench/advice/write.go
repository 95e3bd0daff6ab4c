package advice

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Write writes the advice for a benchmark: words first, then the same as a part of a cluster's spec.
func (a Advice) Write(w io.Writer, benchmark string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "By the benchmark %s:\n\n", benchmark)
	said := ""
	for _, l := range a.Lines {
		if l.Why != said { // two settings may have one reason
			fmt.Fprintf(&text, "* %s: %v. %s\n", l.Path, l.Value, sentence(l.Why))
		}
		said = l.Why
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&text, "* %s\n", sentence(n))
	}
	spec, err := a.yaml()
	if err != nil {
		return err
	}
	fmt.Fprintf(&text, "\n%s", spec)
	_, err = io.WriteString(w, text.String())
	return err
}

// yaml is the part of a GaleraCluster that says all of it.
func (a Advice) yaml() ([]byte, error) {
	spec := map[string]any{}
	for _, l := range a.Lines {
		at := spec
		path := strings.Split(l.Path, ".")
		for _, name := range path[:len(path)-1] {
			next, is := at[name].(map[string]any)
			if !is {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		at[path[len(path)-1]] = l.Value
	}
	return yaml.Marshal(map[string]any{"spec": spec})
}
