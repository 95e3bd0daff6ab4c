// The program bounds gives every string, list and map of the specs in the generated CRDs a bound, where its type has
// none: types of Kubernetes' own API, such as affinity, cannot carry markers. It narrows the pattern of quantities to
// what can be decoded. What spec.scheduling describes is not described again for the arbitrator: `kubectl apply` keeps
// a CRD in an annotation, which has space for 256 KiB.
//
//	go run ./hack/bounds config/crd/bases
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const (
	maxLength   = 4096
	maxItems    = 256
	maxQuantity = 64
	// wide is controller-gen's pattern of a quantity. It takes 1e.5, which no quantity is.
	wide   = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	narrow = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`
)

func main() {
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.yaml"))
	for i := 0; err == nil && i < len(files); i++ {
		err = bound(files[i])
	}
	if err != nil || len(files) == 0 {
		fmt.Fprintf(os.Stderr, "bounds: %d files, %v\n", len(files), err)
		os.Exit(1)
	}
}

// bound rewrites a file.
func bound(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	var typed apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &typed); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	for _, v := range typed.Spec.Versions {
		spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
		walk(&spec)
		v.Schema.OpenAPIV3Schema.Properties["spec"] = spec
	}
	crd["spec"] = typed.Spec // the rest stays as controller-gen writes it, without a status
	out, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return os.WriteFile(file, append([]byte("---\n"), bytes.TrimPrefix(out, []byte("---\n"))...), 0o600)
}

func walk(s *apiextensionsv1.JSONSchemaProps) {
	switch {
	case s.Pattern == wide:
		s.Pattern = narrow
		bounded(&s.MaxLength, maxQuantity)
	case s.XIntOrString, s.Type == "string" && len(s.Enum) == 0 && s.Format != "date-time":
		bounded(&s.MaxLength, maxLength)
	case s.Type == "array":
		bounded(&s.MaxItems, maxItems)
		walk(s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		bounded(&s.MaxProperties, maxItems)
		walk(s.AdditionalProperties.Schema)
	}
	for name, of := range s.Properties {
		walk(&of)
		if scheduling, ok := of.Properties["scheduling"]; ok && name == "arbitrator" {
			for field, schema := range scheduling.Properties {
				undescribe(&schema)
				scheduling.Properties[field] = schema
			}
		}
		s.Properties[name] = of
	}
}

// undescribe removes the descriptions of what a field consists of.
func undescribe(s *apiextensionsv1.JSONSchemaProps) {
	if s.Items != nil {
		s.Items.Schema.Description = ""
		undescribe(s.Items.Schema)
	}
	for name, of := range s.Properties {
		of.Description = ""
		undescribe(&of)
		s.Properties[name] = of
	}
}

func bounded(field **int64, most int64) {
	if *field == nil {
		*field = &most
	}
}
