package report

import (
	"slices"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestLatencies: only what was measured has a column, and columns with long names have them slanted.
func TestLatencies(t *testing.T) {
	for name, c := range map[string]struct {
		workload string
		figures  []string
		want     []string
		slanted  bool
	}{
		"queries": {"write", []string{result.FigureP50, result.FigureP95, result.FigureP99},
			[]string{"write p50", "write p95", "write p99"}, false},
		"an operation": {"switch", []string{result.FigureP95Before, result.FigureP95},
			[]string{"switch p95 before", "switch p95"}, false},
		"a long name": {"operation operation=Promotion", []string{result.FigureP95Before, result.FigureP95},
			[]string{"operation operation=Promotion p95 before", "operation operation=Promotion p95"}, true},
	} {
		r := v1alpha1.BenchmarkResult{Workload: c.workload, Arm: "encrypted"}
		for _, f := range c.figures {
			r.Figures = append(r.Figures, v1alpha1.BenchmarkFigure{Name: f, Median: "7"})
		}
		plots, err := latencies([]v1alpha1.BenchmarkResult{r})
		if err != nil || len(plots) != 1 {
			t.Fatalf("%s: %d charts, %v", name, len(plots), err)
		}
		var got []string
		for _, tick := range plots[0].X.Tick.Marker.Ticks(0, 10) {
			got = append(got, tick.Label)
		}
		if slanted := plots[0].X.Tick.Label.Rotation != 0; !slices.Equal(got, c.want) || slanted != c.slanted {
			t.Errorf("%s: %q, slanted %t", name, got, slanted)
		}
	}
}
