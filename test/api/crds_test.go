package api

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	openapi "k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// kind is a CRD, with the validator that the API server makes of its schema.
type kind struct {
	name   string
	schema *apiextensionsv1.JSONSchemaProps
	values *validate.SchemaValidator
}

// kinds reads all CRDs.
func kinds(t *testing.T) (out []kind) {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d CRDs were found, %v", len(files), err)
	}
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		text, err := os.ReadFile(file)
		must(t, err)
		must(t, yaml.UnmarshalStrict(text, &crd))
		k := kind{name: crd.Spec.Names.Kind, schema: crd.Spec.Versions[0].Schema.OpenAPIV3Schema}
		text, err = json.Marshal(k.schema)
		must(t, err)
		s := &openapi.Schema{}
		must(t, json.Unmarshal(text, s))
		k.values = validate.NewSchemaValidator(s, nil, "", strfmt.Default)
		out = append(out, k)
	}
	return out
}

// admits reports whether the schema takes the object, without its rules in CEL.
func (k kind) admits(o map[string]any) bool { return k.values.Validate(o).IsValid() }

// decode reads the object as the operator's client does.
func decode(t *testing.T, codec runtime.Decoder, o map[string]any) error {
	t.Helper()
	text, err := json.Marshal(o)
	must(t, err)
	gvk := v1alpha1.GroupVersion.WithKind(o["kind"].(string))
	_, _, err = codec.Decode(text, &gvk, nil)
	return err
}
