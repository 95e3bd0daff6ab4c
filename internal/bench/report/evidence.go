package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// Read reads what Write has written as json, and computes its results anew from the runs: status.results may be of an
// older program.
func Read(r io.Reader) (Benchmark, error) {
	var file struct {
		Name   string                         `json:"name"`
		Spec   v1alpha1.GaleraBenchmarkSpec   `json:"spec"`
		Status v1alpha1.GaleraBenchmarkStatus `json:"status"`
		Runs   []result.Record                `json:"runs"`
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return Benchmark{}, fmt.Errorf("reading a report in the format json: %w", err)
	}
	b := Benchmark{Resource: &v1alpha1.GaleraBenchmark{Spec: file.Spec, Status: file.Status}, Records: file.Runs}
	b.Resource.Name = file.Name
	s := &b.Resource.Status
	s.Results, s.Comparisons = summary.Results(&file.Spec, file.Runs)
	s.Verdict = summary.Verdict(s.Results, s.Comparisons)
	return b, nil
}

// evidence describes what the intervals hold, and what significant means.
func evidence(b Benchmark) string {
	n := 0
	for _, r := range b.Resource.Status.Results {
		if r.PValue != "" {
			n++
		}
	}
	for _, c := range b.Resource.Status.Comparisons {
		if c.PValue != "" {
			n++
		}
	}
	if n == 0 {
		return "Nothing is compared: that takes two rounds of two arms at least."
	}
	return fmt.Sprintf(
		"A cost is the geometric mean of the ratios within rounds; it may differ from the ratio of two medians, even in "+
			"its sign. Its interval holds it with 95 %% confidence "+
			"at least (Student's t). What is not significant may be chance: Holm's correction for the comparisons of this "+
			"report (%d).", n)
}

// compared is the table of status.comparisons.
func compared(b Benchmark) part {
	p := part{title: "Compared with one another",
		rows: [][]string{{"COST OF", "AGAINST", "ROUNDS", "COST (95 % INTERVAL)"}}}
	for _, c := range b.Resource.Status.Comparisons {
		p.rows = append(p.rows, []string{summary.CellName(c.Of), summary.CellName(c.With), strconv.Itoa(int(c.Rounds)),
			summary.Cost(summary.ResultOf(c))})
	}
	return p
}

// when it was measured, "" when it has not begun.
func when(b Benchmark) string {
	s := b.Resource.Status
	if s.StartedAt == nil {
		return ""
	}
	text := s.StartedAt.UTC().Format(time.RFC3339)
	if s.CompletedAt != nil {
		text += " to " + s.CompletedAt.UTC().Format(time.RFC3339)
	}
	return text
}

// design is the order of the arms, in words.
func design(b Benchmark) string {
	d := b.Resource.Status.Design
	switch {
	case d == nil:
		return ""
	case d.Balanced:
		return "balanced: " + strings.Join(d.Rounds, "; ")
	}
	return "not balanced: " + strings.Join(d.Rounds, "; ")
}
