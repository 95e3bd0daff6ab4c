package status

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestEnumsAreTheConstants: a word that code writes into a status and the API does not know would keep that status from
// being written. Words are compared with the constants they come from, so that a new one is not forgotten.
func TestEnumsAreTheConstants(t *testing.T) {
	clusters := crd(t, "galeraclusters")
	phases := append(words(t, "../galera/states.go", "Phase"), phaseUnknown)
	operations, observed := words(t, "../galera/snapshot.go", "Op"), words(t, "../agentapi/*.go", "Observed")
	for path, want := range map[string][]string{
		"members[].phase":          phases,
		"arbitrator.phase":         phases,
		"members[].nodeState":      words(t, "../galera/states.go", "Node"),
		"members[].componentState": words(t, "../galera/states.go", "Component"),
		"members[].join.kind":      words(t, "../agentapi/*.go", "JoinIST", "JoinSST", "JoinNone"),
		"members[].join.phase": words(t, "../agentapi/*.go", "JoinWaiting", "JoinTransferring",
			"JoinPreparing", "JoinApplying"),
		"members[].tls.replication.observed":   observed,
		"members[].tls.clients.observed":       observed,
		"members[].tls.stateTransfer.observed": observed,
		"arbitrator.tls.observed":              observed,
		"operation.type":                       operations,
		"lastOperation.type":                   operations,
		"operation.step":                       words(t, "../plan/*.go", "stepRolling", "stepRebootstrap"),
		"tls.switch.strategy":                  words(t, "../plan/*.go", "stepRolling", "stepRebootstrap"),
		"tls.lastSwitch.strategy":              words(t, "../plan/*.go", "stepRolling", "stepRebootstrap"),
		"tls.step":                             append(words(t, "../plan/certificates.go", "Step"), stepRemovingOldCA),
		"tls.replication":                      words(t, "../galera/*.go", "SocketPlain", "SocketDynamic", "SocketStrict"),
		"tls.trustedCAs[].state":               words(t, "../../api/v1alpha1/*.go", "CACurrent", "CAOld", "CADropped"),
	} {
		if got := enum(t, clusters, path); !slices.Equal(got, sorted(want)) {
			t.Errorf("GaleraCluster status.%s: the API has %v, code has %v", path, got, sorted(want))
		}
	}
	if got := known(galera.Phase("Dreaming"), phasesKnown(), phaseUnknown); got != phaseUnknown {
		t.Errorf("an agent's phase that is not known is reported as %q", got)
	}
}

func phasesKnown() []galera.Phase { return phases }

// words are the values of constants, without the empty one.
func words(t *testing.T, pattern string, prefixes ...string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Collect(maps.Values(constants(t, pattern, prefixes...))),
		func(w string) bool { return w == "" })
}

func sorted(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}

// crd returns the schema of a kind's status.
func crd(t *testing.T, plural string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("../../config/crd/bases/galera-operator.io_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Open map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return property(t, doc.Spec.Versions[0].Schema.Open, "status")
}

func property(t *testing.T, schema map[string]any, name string) map[string]any {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	found, ok := properties[name].(map[string]any)
	if !ok {
		t.Fatalf("the CRD has no %s", name)
	}
	return found
}

// enum returns the words of a field; [] leads into the items of a list.
func enum(t *testing.T, schema map[string]any, path string) []string {
	t.Helper()
	for _, part := range strings.Split(path, ".") {
		name, isList := strings.CutSuffix(part, "[]")
		schema = property(t, schema, name)
		if isList {
			schema = schema["items"].(map[string]any)
		}
	}
	var out []string
	values, _ := schema["enum"].([]any)
	for _, v := range values {
		out = append(out, v.(string))
	}
	slices.Sort(out)
	return out
}
