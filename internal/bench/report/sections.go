package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// section is a table of what a workload was made to show; the first row is its heading.
type section struct {
	Title, Note string
	Rows        [][]string
}

// sections are those a benchmark has results for.
func sections(b Benchmark) (out []section) {
	if s, ok := compared(b); ok {
		out = append(out, s)
	}
	for i := range b.Resource.Spec.Workloads {
		w := &b.Resource.Spec.Workloads[i]
		s, ok := section{}, false
		switch {
		case w.Connect != nil:
			s, ok = distances(b, w)
		case w.ResultSize != nil:
			s, ok = sizes(b, w)
		}
		if ok {
			out = append(out, s)
		}
	}
	return out
}

// value of a figure of one arm in a cell.
func value(b Benchmark, c plan.Cell, arm, name string) (float64, bool) {
	for _, r := range b.Resource.Status.Results {
		if r.Workload == c.Workload.Name && r.Variant == c.Variant && r.Arm == arm {
			if f := figure(r, name); f != nil {
				return number(f.Median), true
			}
		}
	}
	return 0, false
}

// cells of one workload.
func cells(b Benchmark, w *v1alpha1.BenchmarkWorkload) (out []plan.Cell) {
	for _, c := range plan.Cells(&b.Resource.Spec) {
		if c.Workload == w {
			out = append(out, c)
		}
	}
	return out
}

// handshake is one way to begin a connection.
type handshake struct {
	version string
	resumed bool
}

// distances is the table of a workload over several latencies: what a connection takes by version of TLS, with and
// without resumption. Of what else it sweeps over the first choice is taken.
func distances(b Benchmark, w *v1alpha1.BenchmarkWorkload) (s section, ok bool) {
	if len(w.Connect.Latency) < 2 {
		return s, false
	}
	head := []string{"ARM", "TLS", "SESSION"}
	for _, l := range w.Connect.Latency {
		head = append(head, "+"+l)
	}
	s = section{Title: "A connection by its distance: " + w.Name, Rows: [][]string{head},
		Note: "Median in milliseconds, from the first packet to the answer; in brackets the round trips it waits for, by " +
			"what it takes longer than over the shortest distance."}
	for _, arm := range b.Resource.Status.ArmNames {
		for _, h := range handshakes(b, w, arm) {
			row, known := distance(b, w, arm, h)
			if known {
				s.Rows = append(s.Rows, row)
			}
		}
	}
	return s, len(s.Rows) > 1
}

// handshakes of an arm; one whose clients speak no TLS has none, of no kind.
func handshakes(b Benchmark, w *v1alpha1.BenchmarkWorkload, arm string) (out []handshake) {
	if plaintext(b, arm) {
		return []handshake{{}}
	}
	for _, version := range w.Connect.TLSVersions {
		for _, resumption := range w.Connect.SessionResumption {
			out = append(out, handshake{version, resumption == "On"})
		}
	}
	return out
}

// plaintext reports whether the clients of an arm speak no TLS, as far as the benchmark itself reports.
func plaintext(b Benchmark, arm string) bool {
	own := v1alpha1.TLSSpec{}
	if t := b.Resource.Spec.Cluster.Template; t != nil {
		own = t.TLS
	}
	for _, a := range b.Resource.Spec.Arms {
		if a.Name == arm {
			return own.With(a.TLS).Clients == v1alpha1.TLSDisabled
		}
	}
	return false
}

// distance is a row of the table.
func distance(b Benchmark, w *v1alpha1.BenchmarkWorkload, arm string, h handshake) (row []string, known bool) {
	row = []string{arm, "-", "-"}
	if h.version != "" {
		row[1], row[2] = h.version, map[bool]string{false: "new", true: "resumed"}[h.resumed]
	}
	shortest := nearest(w)
	near, haveNear := median(b, w, arm, h, shortest)
	for _, l := range w.Connect.Latency {
		latency, _ := time.ParseDuration(l) // the API admits only durations
		ms, ok := median(b, w, arm, h, latency)
		text := "-"
		if ok {
			known, text = true, summary.Decimal(ms)
		}
		if ok && haveNear && latency > shortest {
			text += fmt.Sprintf(" (%.1f)", (ms-near)/(1e3*(latency-shortest).Seconds()))
		}
		row = append(row, text)
	}
	return row, known
}

// nearest is the shortest distance of a workload.
func nearest(w *v1alpha1.BenchmarkWorkload) time.Duration {
	shortest := time.Duration(math.MaxInt64)
	for _, l := range w.Connect.Latency {
		latency, _ := time.ParseDuration(l) // the API admits only durations
		shortest = min(shortest, latency)
	}
	return shortest
}

// median of one handshake over one latency.
func median(b Benchmark, w *v1alpha1.BenchmarkWorkload, arm string, h handshake, latency time.Duration) (float64,
	bool) {
	for _, c := range cells(b, w) {
		if c.Latency == latency && (h.version == "" || c.TLSVersion == h.version && c.Resumption == h.resumed) {
			return value(b, c, arm, result.FigureP50)
		}
	}
	return 0, false
}

// sizes is the table of a workload with several sizes: the processor time that each arm takes more than the baseline
// for an answer.
func sizes(b Benchmark, w *v1alpha1.BenchmarkWorkload) (s section, ok bool) {
	if len(w.ResultSize.Sizes) < 2 {
		return s, false
	}
	head := []string{"ARM", "CPU OF"}
	for _, size := range w.ResultSize.Sizes {
		head = append(head, strconv.Itoa(int(size))+" B")
	}
	s = section{Title: "CPU beyond the baseline by size of the answer: " + w.Name,
		Rows: [][]string{append(head, "ANSWER", "KIB")},
		Note: "Microseconds for each answer; the last two columns are the line through the smallest and the largest: what " +
			"an answer costs, and what each KiB of it does."}
	for _, arm := range b.Resource.Status.ArmNames {
		if arm == plan.Baseline(&b.Resource.Spec) {
			continue
		}
		for _, of := range []struct{ name, figure string }{{"nodes", result.FigureServerCPU},
			{"client", result.FigureClientCPU}} {
			if row, known := beyond(b, w, arm, of.figure); known {
				s.Rows = append(s.Rows, append([]string{arm, of.name}, row...))
			}
		}
	}
	return s, len(s.Rows) > 1
}

// beyond is what an arm takes more than the baseline, by size, and the line through both ends.
func beyond(b Benchmark, w *v1alpha1.BenchmarkWorkload, arm, figure string) (row []string, known bool) {
	type point struct{ kib, micros float64 }
	var low, high *point
	for _, c := range cells(b, w) {
		if c.Threads != int(w.ResultSize.Threads[0]) {
			continue
		}
		base, ok1 := value(b, c, plan.Baseline(&b.Resource.Spec), figure)
		more, ok2 := value(b, c, arm, figure)
		if !ok1 || !ok2 {
			row = append(row, "-")
			continue
		}
		p := &point{float64(c.Size) / 1024, more - base}
		row = append(row, summary.Decimal(p.micros))
		if low == nil || p.kib < low.kib {
			low = p
		}
		if high == nil || p.kib > high.kib {
			high = p
		}
	}
	if low == nil || low == high {
		return append(row, "-", "-"), low != nil
	}
	slope := (high.micros - low.micros) / (high.kib - low.kib)
	return append(row, summary.Decimal(low.micros-slope*low.kib), summary.Decimal(slope)), true
}
