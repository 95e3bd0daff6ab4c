package report

import (
	"os"
	"slices"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// measured is sample with other workloads, and figures made by a function.
func measured(w v1alpha1.BenchmarkWorkload, of func(c plan.Cell, encrypted bool) map[string]string) Benchmark {
	b := sample()
	b.Records, b.Resource.Status.Results = nil, nil
	s := &b.Resource.Spec
	s.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}},
		{Name: "encrypted"}}
	s.Workloads = []v1alpha1.BenchmarkWorkload{w}
	for _, c := range plan.Cells(s) {
		for _, arm := range s.Arms {
			r := v1alpha1.BenchmarkResult{Workload: w.Name, Variant: c.Variant, Arm: arm.Name, Samples: 3}
			for name, v := range of(c, arm.Name == "encrypted") {
				r.Figures = append(r.Figures, v1alpha1.BenchmarkFigure{Name: name, Median: v, Low: v, High: v})
			}
			b.Resource.Status.Results = append(b.Resource.Status.Results, r)
		}
	}
	return b
}

// TestDistances: one table of resumption, version and distance, with the round trips each connection waits for.
func TestDistances(t *testing.T) {
	w := v1alpha1.BenchmarkWorkload{Name: "far", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1},
		TLSVersions: []string{"1.2", "1.3"}, SessionResumption: []string{"Off", "On"}, Latency: []string{"0s", "40ms"}}}
	b := measured(w, func(c plan.Cell, encrypted bool) map[string]string {
		switch {
		case c.Latency == 0:
			return map[string]string{result.FigureP50: "1"}
		case !encrypted:
			return map[string]string{result.FigureP50: "121"}
		case c.TLSVersion == "1.2" && !c.Resumption:
			return map[string]string{result.FigureP50: "201"}
		case c.TLSVersion == "1.3" && c.Resumption:
			return nil // was not measured
		}
		return map[string]string{result.FigureP50: "161"}
	})
	md := written(t, "md", b)
	for _, want := range []string{"### A connection by its distance: far", "| arm | tls | session | +0s | +40ms |",
		"| plain | - | - | 1 | 121 (3.0) |\n| encrypted |",
		"| encrypted | 1.2 | new | 1 | 201 (5.0) |", "| encrypted | 1.2 | resumed | 1 | 161 (4.0) |",
		"| encrypted | 1.3 | resumed | 1 | - |"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is not in\n%s", want, md)
		}
	}
	if page := written(t, "html", b); !strings.Contains(page, "<h2>A connection by its distance: far</h2>") ||
		!strings.Contains(page, "<td>201 (5.0)</td>") {
		t.Error(page)
	}
	if text := written(t, "table", b); !strings.Contains(text, "encrypted  1.2  new") {
		t.Error(text)
	}
	b.Resource.Spec.Workloads[0].Connect.Latency = []string{"0s"}
	if md := written(t, "md", b); strings.Contains(md, "distance") {
		t.Error("one distance makes no table")
	}
}

// sized has answers of which each takes 5 µs more with TLS, and each KiB of them 2.
func sized() Benchmark {
	return measured(v1alpha1.BenchmarkWorkload{Name: "answers",
		ResultSize: &v1alpha1.ResultSizeWorkload{Sizes: []int32{1024, 10240, 1048576}, Threads: []int32{4}}},
		func(c plan.Cell, encrypted bool) map[string]string {
			kib := map[int]string{1024: "10", 10240: "20", 1048576: "1000"}[c.Size]
			if encrypted {
				kib = map[int]string{1024: "17", 10240: "45", 1048576: "3053"}[c.Size]
			}
			return map[string]string{result.FigureServerCPU: kib, result.FigureMegabytesPerSecond: kib}
		})
}

// TestSizes: what an answer costs and what its bytes do are distinguished, and drawn.
func TestSizes(t *testing.T) {
	b := sized()
	md := written(t, "md", b)
	for _, want := range []string{"### CPU beyond the baseline by size of the answer: answers",
		"| arm | cpu of | 1024 b | 10240 b | 1048576 b | answer | kib |", "| encrypted | nodes | 7 | 25 | 2053 | 5 | 2 |"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is not in\n%s", want, md)
		}
	}
	if strings.Contains(md, "client |") {
		t.Error("a row without figures")
	}
	plots, err := bySize(b)
	if err != nil || len(plots) != 2 || plots[1].Title.Text != "CPU of all nodes by size of the answer: answers" {
		t.Errorf("%d charts, %v", len(plots), err)
	}
	if svg := written(t, "svg", b); !strings.Contains(svg, "Throughput by size of the answer: answers") {
		t.Error("not drawn")
	} else if path := os.Getenv("BENCH_SVG"); path != "" {
		_ = os.WriteFile(path, []byte(written(t, "png", b)), 0o600)
	}
	b.Resource.Status.Results = slices.DeleteFunc(b.Resource.Status.Results,
		func(r v1alpha1.BenchmarkResult) bool { return r.Variant != "size=1024" })
	if plots, err := bySize(b); err != nil || len(plots) != 0 {
		t.Errorf("a curve of one point: %d, %v", len(plots), err)
	}
	if md := written(t, "md", b); !strings.Contains(md, "| encrypted | nodes | 7 | - | - | - | - |") {
		t.Error(md)
	}
}

// TestQueriesWhereTheyAreCompared: queries per second stand in the short forms where they are the metric, and nowhere
// else.
func TestQueriesWhereTheyAreCompared(t *testing.T) {
	if md := written(t, "md", sample()); strings.Contains(md, "queries/s") {
		t.Error(md)
	}
	b := sample()
	for i := range b.Resource.Status.Results {
		b.Resource.Status.Results[i].Metric = result.FigureQPS
	}
	if md := written(t, "md", b); !strings.Contains(md, "queries/s") {
		t.Error(md)
	}
}

// TestKeyExchangesAreReported: what was agreed on is a part of what was measured.
func TestKeyExchangesAreReported(t *testing.T) {
	b := sample()
	for i := range b.Records[:4] {
		b.Records[i].Output = &result.Output{Connect: &result.ConnectResult{
			Presented: result.Presented{KeyExchange: []string{"X25519MLKEM768", "P-256"}[i%2]}}}
	}
	if md := written(t, "md", b); !strings.Contains(md, "- key exchange: P-256, X25519MLKEM768\n") {
		t.Error(md)
	}
}
