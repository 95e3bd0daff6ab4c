package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// Compare writes the results of two benchmarks side by side, as table or md: what both have measured, and what was set
// differently.
func Compare(w io.Writer, format string, a, b Benchmark) error {
	return write(w, format, []part{{title: a.Resource.Name + " and " + b.Resource.Name, rows: sideBySide(a, b),
		note: "Medians with their intervals, the number of rounds and the confidence of the interval. The change is that " +
			"of the geometric means, with an interval of 95 % (Welch's t); what is not significant may be chance (Holm's " +
			"correction for all changes). The benchmarks share no rounds: what drifted between them is in the change.",
	}}, differences(a, b))
}

// sideBySide has a heading, and a row for everything both have measured.
func sideBySide(a, b Benchmark) [][]string {
	rows := [][]string{{"WORKLOAD", "ARM", "FIGURE", strings.ToUpper(a.Resource.Name), strings.ToUpper(b.Resource.Name),
		"CHANGE (95 % INTERVAL)"}}
	var ps []float64
	var tested []int // the rows of ps
	for _, x := range a.Resource.Status.Results {
		for _, y := range b.Resource.Status.Results {
			if summary.Title(x) != summary.Title(y) || x.Arm != y.Arm || x.Metric != y.Metric ||
				summary.FigureOf(x, x.Metric).Name == "" || summary.FigureOf(y, y.Metric).Name == "" {
				continue
			}
			change := "-"
			ratio, low, high, p, ok := summary.Independent(summary.Values(a.Records, x), summary.Values(b.Records, y))
			if ok {
				change = fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", percent(ratio), percent(low), percent(high))
				ps, tested = append(ps, p), append(tested, len(rows))
			}
			rows = append(rows, []string{summary.Title(x), x.Arm, x.Metric, interval(x), interval(y), change})
		}
	}
	for i, significant := range summary.Holm(ps) {
		if !significant {
			rows[tested[i]][5] += ", not significant"
		}
	}
	return rows
}

func percent(logRatio float64) float64 { return 100 * (math.Exp(logRatio) - 1) }

// interval is a median with its interval, whose confidence depends on the number of rounds.
func interval(r v1alpha1.BenchmarkResult) string {
	f := summary.FigureOf(r, r.Metric)
	return fmt.Sprintf("%s [%s, %s], n=%d, %.0f %%", f.Median, f.Low, f.High, r.Samples,
		100*summary.Confidence(int(r.Samples)))
}

// differences are the settings in which what is compared by its name alone was not the same.
func differences(a, b Benchmark) (out []string) {
	one, other := parts(a.Resource.Spec), parts(b.Resource.Spec)
	for _, part := range slices.Sorted(maps.Keys(one)) {
		if other[part] == nil {
			continue
		}
		paths := maps.Clone(one[part])
		maps.Copy(paths, other[part])
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			if x, y := one[part][path], other[part][path]; x != y {
				out = append(out, fmt.Sprintf("different settings: %s%s: %s and %s", part, path, cmp.Or(x, "not set"),
					cmp.Or(y, "not set")))
			}
		}
	}
	return out
}

// parts are the settings of a spec's cluster and client, and of each workload and each arm, by their paths.
func parts(s v1alpha1.GaleraBenchmarkSpec) map[string]map[string]string {
	out := map[string]map[string]string{}
	add := func(name string, part any) {
		var value any
		if text, err := json.Marshal(part); err == nil && json.Unmarshal(text, &value) == nil {
			out[name] = map[string]string{}
			flatten(out[name], "", value)
		}
	}
	add("cluster", s.Cluster)
	add("client", s.Client)
	for _, w := range s.Workloads {
		add("workload "+w.Name, w)
	}
	for _, a := range s.Arms {
		add("arm "+a.Name, a)
	}
	return out
}

func flatten(out map[string]string, path string, value any) {
	fields, is := value.(map[string]any)
	if !is {
		text, _ := json.Marshal(value) // it was JSON before
		out[path] = string(text)
	}
	for name, field := range fields {
		flatten(out, path+"."+name, field)
	}
}
