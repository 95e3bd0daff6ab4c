package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Compare writes the results of two benchmarks beside each other, as table, md or html: what both have measured, and what was
// set differently.
func Compare(w io.Writer, format string, a, b Benchmark) error {
	rows := beside(a, b)
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
		if err := t.Flush(); err != nil || notes == nil {
			return err
		}
		_, err := fmt.Fprintln(w, "\n"+strings.Join(notes, "\n"))
		return err
	case "md":
		text := "## " + name + "\n\n" + markdownTable(rows)
		if notes != nil {
			text += "\n- " + strings.Join(notes, "\n- ") + "\n"
		}
		_, err := io.WriteString(w, text)
		return err
	case "html":
		return pageTemplate.Execute(w, sheet{Title: "Benchmarks compared", Verdict: name, Head: rows[0], Rows: rows[1:],
			Note: "Medians with their intervals. Where the intervals overlap, the change may be chance.", Settings: notes})
	}
	return fmt.Errorf("unknown format %q of a comparison: use table, md or html", format)
}

// beside has a heading, and a row for everything both have measured.
func beside(a, b Benchmark) [][]string {
	rows := [][]string{{"WORKLOAD", "ARM", "FIGURE", strings.ToUpper(a.Resource.Name), strings.ToUpper(b.Resource.Name), "CHANGE"}}
	for _, x := range a.Resource.Status.Results {
		for _, y := range b.Resource.Status.Results {
			if title(x) != title(y) || x.Arm != y.Arm || x.Metric != y.Metric {
				continue
			}
			if f, g := figure(x, x.Metric), figure(y, y.Metric); f != nil && g != nil {
				rows = append(rows, []string{title(x), x.Arm, x.Metric, interval(*f), interval(*g), change(*f, *g)})
			}
		}
	}
	return rows
}

func interval(f v1alpha1.BenchmarkFigure) string {
	return fmt.Sprintf("%s [%s, %s]", f.Median, f.Low, f.High)
}

// change is that of the medians; intervals that overlap say that it may be chance.
func change(f, g v1alpha1.BenchmarkFigure) string {
	from, to := number(f.Median), number(g.Median)
	if from == 0 {
		return "-"
	}
	text := fmt.Sprintf("%+.1f %%", 100*(to/from-1))
	if number(f.Low) <= number(g.High) && number(g.Low) <= number(f.High) {
		text += " (intervals overlap)"
	}
	return text
}

func number(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v } // the operator wrote it
