package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// Compare writes the results of two benchmarks side by side, as table, md or html: what both have measured, and what
// was set differently.
func Compare(w io.Writer, format string, a, b Benchmark) error {
	rows := sideBySide(a, b)
	const compareNote = "Medians with their intervals, the number of rounds and the confidence of the interval. The " +
		"change is that of the geometric means, with an interval of " +
		"95 % (Welch's t); what is not significant may be chance (Holm's correction for all changes). The benchmarks share " +
		"no rounds: what drifted between them is in the change."
	name := a.Resource.Name + " and " + b.Resource.Name
	var notes []string
	for _, d := range differences(a, b) {
		notes = append(notes, "different settings: "+d)
	}
	switch format {
	case "table":
		t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		for _, row := range rows {
			_, _ = fmt.Fprintln(t, strings.Join(row, "\t")) // Flush returns the error
		}
		if err := t.Flush(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, "\n"+strings.Join(append([]string{compareNote}, notes...), "\n"))
		return err
	case "md":
		text := "## " + name + "\n\n" + markdownTable(rows) + "\n" + compareNote + "\n"
		if notes != nil {
			text += "\n- " + strings.Join(notes, "\n- ") + "\n"
		}
		_, err := io.WriteString(w, text)
		return err
	case "html":
		return pageTemplate.Execute(w, sheet{Title: "Benchmarks compared", Verdict: name, Head: rows[0], Rows: rows[1:],
			Note: compareNote, Settings: notes})
	}
	return fmt.Errorf("unknown format %q of a comparison: use table, md or html", format)
}

// sideBySide has a heading, and a row for everything both have measured.
func sideBySide(a, b Benchmark) [][]string {
	rows := [][]string{{"WORKLOAD", "ARM", "FIGURE", strings.ToUpper(a.Resource.Name), strings.ToUpper(b.Resource.Name),
		"CHANGE (95 % INTERVAL)"}}
	var all []difference
	var ps []float64
	for _, x := range a.Resource.Status.Results {
		for _, y := range b.Resource.Status.Results {
			if title(x) != title(y) || x.Arm != y.Arm || x.Metric != y.Metric || figure(x, x.Metric) == nil ||
				figure(y, y.Metric) == nil {
				continue
			}
			d := between(a, b, x, y)
			if all = append(all, d); d.known {
				ps = append(ps, d.p)
			}
		}
	}
	significant := summary.Holm(ps)
	for _, d := range all {
		change := d.percent
		if d.known && !significant[0] {
			change += ", not significant"
		}
		if d.known {
			significant = significant[1:]
		}
		rows = append(rows, []string{title(d.x), d.x.Arm, d.x.Metric, interval(d.x), interval(d.y), change})
	}
	return rows
}

// interval is a median with its interval, whose confidence depends on the number of rounds.
func interval(r v1alpha1.BenchmarkResult) string {
	f := figure(r, r.Metric)
	return fmt.Sprintf("%s [%s, %s], n=%d, %.0f %%", f.Median, f.Low, f.High, r.Samples,
		100*summary.Confidence(int(r.Samples)))
}

func number(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v } // the operator wrote it
