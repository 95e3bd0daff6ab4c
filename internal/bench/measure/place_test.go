package measure

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// place is what a node in a Primary component reports of its state, and of the members that it sees.
func place(state string, members ...string) result.Sample {
	s := result.Sample{result.MetricPrimary: 1, "state:" + state: 1, "galera_node_state": 1}
	for _, m := range members {
		s["member:"+m], s["galera_component_member"] = 1, 1
	}
	return s
}

// TestPlace: a node's place in its group is read from the metrics that docs/metrics.md lists.
func TestPlace(t *testing.T) {
	text := `# HELP galera_primary_component Whether the node is in a Primary component.
# TYPE galera_primary_component gauge
galera_primary_component 1
# TYPE galera_node_state gauge
galera_node_state{state="Synced"} 1
galera_component_member{member="x-0"} 1
galera_component_member{member="x-1"} 1
`
	cut := place(cluster.Synced, "x-0", "x-1")
	cut[result.MetricPrimary] = 0
	for name, tc := range map[string]struct {
		text string
		want result.Sample
	}{
		"serves":          {text, place(cluster.Synced, "x-0", "x-1")},
		"gives":           {strings.Replace(text, "Synced", "Donor", 1), place(cluster.Donor, "x-0", "x-1")},
		"is cut off":      {strings.Replace(text, "component 1", "component 0", 1), cut},
		"does not answer": {"galera_primary_component 0\n", result.Sample{result.MetricPrimary: 0}},
	} {
		if got := parseMetrics(tc.text); !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(tc.want)))
		}
	}
}
