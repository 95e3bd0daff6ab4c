package v1alpha1

import (
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestEverythingIsBounded: each string, list and map of a spec has a bound, because the operator keeps all specs in its
// memory.
func TestEverythingIsBounded(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d CRDs were found, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
			if len(spec.Properties) == 0 {
				t.Errorf("%s has no spec", file)
			}
			unbounded(t, crd.Spec.Names.Kind+".spec", &spec)
		}
	}
}

func unbounded(t *testing.T, path string, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	bound := true
	switch {
	case s.XPreserveUnknownFields != nil:
		bound = false
	case s.XIntOrString, s.Type == "string":
		bound = s.MaxLength != nil || len(s.Enum) > 0 || s.Format == "date-time"
	case s.Type == "array":
		bound = s.MaxItems != nil
		unbounded(t, path+"[]", s.Items.Schema)
	case s.AdditionalProperties != nil:
		bound = s.MaxProperties != nil && s.AdditionalProperties.Schema != nil
		unbounded(t, path+"{}", s.AdditionalProperties.Schema)
	}
	if !bound {
		t.Errorf("%s has no bound", path)
	}
	for name, of := range s.Properties {
		unbounded(t, path+"."+name, &of)
	}
}
