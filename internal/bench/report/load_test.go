package report

import (
	"os"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// loaded is sample with what its nodes used over time.
func loaded() Benchmark {
	b := sample()
	for i := range b.Records {
		for second := 2; second <= 14; second += 2 {
			b.Records[i].Output.Load = append(b.Records[i].Output.Load, result.LoadPoint{Second: float64(second),
				CPU: 1.5 + float64(i%2)/4, Sent: 12 + float64(second%4)})
		}
	}
	return b
}

// TestLoadOverTime: CPU and network of all nodes have a chart of each workload.
func TestLoadOverTime(t *testing.T) {
	plots, err := charts(loaded())
	if err != nil || len(plots) != 6 {
		t.Fatalf("%d charts, %v", len(plots), err)
	}
	for i, want := range []struct{ title, label string }{
		{"First round, second by second: write-only", "transactions per second"},
		{"First round, CPU of all nodes: write-only", "busy processors"},
		{"First round, network of all nodes: write-only", "MB sent per second"},
	} {
		if p := plots[i]; p.Title.Text != want.title || p.Y.Label.Text != want.label || p.Y.Min != 0 {
			t.Errorf("chart %d: %s, %s from %g", i+1, p.Title.Text, p.Y.Label.Text, p.Y.Min)
		}
	}
}

// TestSVG: one file with all charts, whose texts can be found.
func TestSVG(t *testing.T) {
	svg := written(t, "svg", loaded())
	if !strings.HasPrefix(svg, "<?xml") || strings.Count(svg, "<svg") != 1 {
		t.Errorf("begins with %.80s", svg)
	}
	for _, want := range []string{"First round, second by second: write-only", "First round, CPU of all nodes: read-only",
		"Arial"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if path := os.Getenv("BENCH_SVG"); path != "" {
		_ = os.WriteFile(path, []byte(svg), 0o600)
	}
}

// TestCeilingAlongsideCopies: what a CPU encrypts stands in the column of what copies bring.
func TestCeilingAlongsideCopies(t *testing.T) {
	b := sample()
	b.Resource.Status.Results = []v1alpha1.BenchmarkResult{
		{Workload: "copy", Arm: "plain", Figures: []v1alpha1.BenchmarkFigure{{Name: result.FigureMegabytesPerSecond,
			Median: "95"}}},
		{Workload: "cipher", Arm: "plain", Figures: []v1alpha1.BenchmarkFigure{{Name: "megabytesPerSecond16B", Median: "54"},
			{Name: result.FigureMegabytesPerSecond, Median: "5671"}}},
	}
	for _, want := range []string{"| 16 B MB/S | MB/S |", "| - | 95 |", "| 54 | 5671 |"} {
		if md := written(t, "md", b); !strings.Contains(md, want) {
			t.Errorf("%s is not in\n%s", want, md)
		}
	}
}
