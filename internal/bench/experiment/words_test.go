package experiment

import (
	"os"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestTheAPIHasEveryStep: a status with a step that the API does not know would never be written.
func TestTheAPIHasEveryStep(t *testing.T) {
	raw, err := os.ReadFile("../../../config/crd/bases/galera-operator.io_galerabenchmarks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	var known []string
	status := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	for _, word := range status.Properties["run"].Properties["step"].Enum {
		known = append(known, string(word.Raw))
	}
	steps := []string{StepSwitch, StepPrepare, StepMeasure, StepTransfer, StepOperation, StepSwitchBack}
	for i := range steps {
		steps[i] = `"` + steps[i] + `"`
	}
	slices.Sort(known)
	slices.Sort(steps)
	if !slices.Equal(known, steps) {
		t.Errorf("the API has %v, the constants are %v", known, steps)
	}
}
