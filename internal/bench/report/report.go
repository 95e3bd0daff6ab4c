// Package report writes what a benchmark has found, for people and for programs.
package report

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// Benchmark is a resource and the records of its runs.
type Benchmark struct {
	Resource *v1alpha1.GaleraBenchmark
	Records  []result.Record
}

// Write writes a report in one of the formats table, md, json, csv and svg. It returns an error for any other.
func Write(w io.Writer, format string, b Benchmark) error {
	slices.SortFunc(b.Records, func(a, c result.Record) int { return 100*(a.Index-c.Index) + a.Attempt - c.Attempt })
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"name": b.Resource.Name, "spec": b.Resource.Spec, "status": b.Resource.Status,
			"runs": b.Records})
	case "csv":
		return runs(w, b)
	case "svg":
		return picture(w, b)
	}
	s := b.Resource.Status
	parts := []part{{title: b.Resource.Name + ": " + cmp.Or(s.Verdict, "nothing to compare yet"), rows: grid(b),
		note: evidence(b)}}
	if len(s.Comparisons) > 0 {
		parts = append(parts, compared(b))
	}
	return write(w, format, parts, surroundings(b))
}

// columns are the figures of the short forms, with their headings.
var columns = []struct{ figure, heading string }{
	{result.FigureTPSBefore, "TPS BEFORE"}, {result.FigureTPS, "TPS"}, {result.FigureQPS, "QUERIES/S"},
	{result.FigureConnectionsPerSecond, "CONN/S"},
	// What a CPU encrypts in the largest records, 16 KiB, stands in one column with what copies bring: it is their
	// ceiling.
	{result.CipherFigures[16], "16 B MB/S"}, {result.CipherFigures[256], "256 B MB/S"},
	{result.CipherFigures[1024], "1 KIB MB/S"}, {result.CipherFigures[8192], "8 KIB MB/S"},
	{result.FigureMegabytesPerSecond, "MB/S"}, {result.FigureSeconds, "SECONDS"},
	{result.FigureLoadLoss, "LOAD LOSS %"}, {result.FigureCPUSeconds, "CPU S"},
	{result.FigureResumed, "RESUMED %"}, {result.FigureBackend, "BACKEND %"},
	{result.FigureAverage, "AVG MS"}, {result.FigureP50, "P50 MS"}, {result.FigureP95Before, "P95 BEFORE MS"},
	{result.FigureP95, "P95 MS"}, {result.FigureGapBefore, "GAP BEFORE MS"}, {result.FigureGap, "GAP MS"},
	{result.FigureP99, "P99 MS"},
	{result.FigureServerCPU, "SERVER CPU µS"}, {result.FigureClientCPU, "CLIENT CPU µS"},
	{result.FigureProxyCPU, "PROXY CPU µS"}, {result.FigureProxyMemory, "PROXY MIB"},
	{result.FigureReplicatedBytes, "REPLICATED B"}, {result.FigureSentBytes, "SENT B"},
}

// grid is the short table: a heading and a row for every result. Empty columns are left out.
func grid(b Benchmark) [][]string {
	results := b.Resource.Status.Results
	head := []string{"WORKLOAD", "ARM", "RUNS", "COST (95 % INTERVAL)"}
	used := columns[:0:0]
	for _, c := range columns {
		if slices.ContainsFunc(results, func(r v1alpha1.BenchmarkResult) bool { return shown(r, c.figure) }) {
			used = append(used, c)
			head = append(head, c.heading)
		}
	}
	out := [][]string{head}
	for _, r := range results {
		row := []string{summary.Title(r), r.Arm, strconv.Itoa(int(r.Samples)), cost(r, experiment.Baseline(&b.Resource.Spec))}
		for _, c := range used {
			row = append(row, cmp.Or(summary.FigureOf(r, c.figure).Median, "-"))
		}
		out = append(out, row)
	}
	return out
}

// shown reports whether a figure of a result has a place in the short forms. Queries per second have one where they are
// what is compared: transactions are made of a fixed number of them.
func shown(r v1alpha1.BenchmarkResult, name string) bool {
	return summary.FigureOf(r, name).Name != "" && (name != result.FigureQPS || r.Metric == name)
}

// cost of an arm; one that has no round in common with the baseline yet has none.
func cost(r v1alpha1.BenchmarkResult, baseline string) string {
	switch {
	case r.Arm == baseline:
		return "baseline"
	case r.OverheadPercent == "":
		return "-"
	}
	return summary.Cost(r)
}

// surroundings are the lines on where and when it was measured, and on the runs that do not count.
func surroundings(b Benchmark) (out []string) {
	s := b.Resource.Status
	e := s.Environment
	if e == nil {
		e = &v1alpha1.BenchmarkEnvironment{}
	}
	lines := [][2]string{
		{"runs", s.Progress}, {"measured", when(b)}, {"order", design(b)}, {"operator", e.Operator}, {"MariaDB", e.MariaDB},
		{"Galera", e.Galera}, {"OpenSSL", e.OpenSSL}, {"sysbench", e.Sysbench},
	}
	for _, h := range e.Hosts {
		lines = append(lines, [2]string{"host " + h.Name, strings.Join(h.Pods, ", ") + machine(h)})
	}
	lines = append(lines, [][2]string{{"limits", limits(e.Limits)}, {"storage class", e.StorageClass},
		{"data", dataSets(e.DataSets)}, {"database image", strings.Join(e.DatabaseImages, "; ")},
		{"client image", strings.Join(e.ClientImages, "; ")}, {"operator image", strings.Join(e.OperatorImages, "; ")},
		{"proxy image", strings.Join(e.ProxyImages, "; ")}}...)
	for _, i := range s.InvalidRuns {
		lines = append(lines, [2]string{fmt.Sprintf("run %d, attempt %d (%s) does not count", i.Index, i.Attempt, i.Arm),
			i.Reason})
	}
	for _, l := range lines {
		if l[1] != "" {
			out = append(out, l[0]+": "+l[1])
		}
	}
	return out
}

// limits of the database containers, in words.
func limits(l corev1.ResourceList) string {
	if len(l) == 0 {
		return "none"
	}
	limit := func(q *resource.Quantity) string {
		if q.IsZero() {
			return "none"
		}
		return q.String()
	}
	return fmt.Sprintf("cpu %s, memory %s", limit(l.Cpu()), limit(l.Memory()))
}

func dataSets(sets []v1alpha1.BenchmarkDataSet) string {
	var out []string
	for _, d := range sets {
		many := ""
		if d.Databases > 1 {
			many = fmt.Sprintf("%d databases of ", d.Databases)
		}
		out = append(out, fmt.Sprintf("%s: %stables: %d, rows of each: %d, %d MB, checksum %s", d.Name, many, d.Tables,
			d.Rows, d.Bytes/1e6, d.Checksum))
	}
	return strings.Join(out, "; ")
}

// machine is what is known of a host, "" when nothing is.
func machine(h v1alpha1.BenchmarkHost) string {
	if h.CPUs == 0 {
		return ""
	}
	return fmt.Sprintf(": %s, %d CPUs (%s), kernel %s", h.CPU, h.CPUs, strings.Join(h.CPUFlags, " "), h.Kernel)
}

// runs writes every attempt with all of its figures.
func runs(w io.Writer, b Benchmark) error {
	c := csv.NewWriter(w)
	head := []string{"run", "attempt", "round", "arm", "workload", "variant", "valid", "reason"}
	_ = c.Write(append(head, result.FigureNames...)) // Error returns it below
	for _, r := range b.Records {
		row := []string{strconv.Itoa(r.Index), strconv.Itoa(r.Attempt), strconv.Itoa(r.Round), r.Arm, r.Workload, r.Variant,
			strconv.FormatBool(r.Valid), r.Reason}
		figures := map[string]float64{}
		if r.Output != nil {
			figures = r.Output.Figures()
		}
		for _, name := range result.FigureNames {
			text := ""
			if v, ok := figures[name]; ok {
				text = strconv.FormatFloat(v, 'g', -1, 64) // all of it: intervals are computed from it again
			}
			row = append(row, text)
		}
		_ = c.Write(row)
	}
	c.Flush()
	return c.Error()
}
