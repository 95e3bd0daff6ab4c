package measure

import (
	"reflect"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/cluster"
)

// TestParsePlace: a node's place in its group is read from the metrics that docs/metrics.md lists.
func TestParsePlace(t *testing.T) {
	text := `# HELP galera_primary_component Whether the node is in a Primary component.
# TYPE galera_primary_component gauge
galera_primary_component 1
# TYPE galera_node_state gauge
galera_node_state{state="Synced"} 1
galera_component_member{member="x-0"} 1
galera_component_member{member="x-1"} 1
galera_component_size 2
`
	all := []string{"x-0", "x-1"}
	for name, tc := range map[string]struct {
		text string
		want cluster.Member
	}{
		"serves": {text, cluster.Member{Primary: true, State: cluster.Synced, Members: all}},
		"gives": {strings.Replace(text, "Synced", "Donor", 1),
			cluster.Member{Primary: true, State: cluster.Donor, Members: all}},
		"is cut off": {strings.Replace(text, "component 1", "component 0", 1),
			cluster.Member{State: cluster.Synced, Members: all}},
		"does not answer": {"galera_primary_component 0\n", cluster.Member{}},
	} {
		if got := parsePlace(tc.text); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
