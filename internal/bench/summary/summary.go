// Package summary turns the records of all runs into status.results: medians, intervals and differences over the
// rounds. It is pure.
package summary

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// Results returns one result for every workload, variant and arm that has been run, the baseline first, and the
// comparisons of spec.compare. Which differences are significant is decided for all of them together.
func Results(s *v1alpha1.GaleraBenchmarkSpec, records []result.Record) ([]v1alpha1.BenchmarkResult,
	[]v1alpha1.BenchmarkComparison) {
	var out []v1alpha1.BenchmarkResult
	var all family
	baseline := experiment.Baseline(s)
	for _, cell := range experiment.Cells(s) {
		base := collect(records, experiment.Measured{Cell: cell, Arm: baseline}.Name())
		for _, arm := range experiment.Arms(s) {
			g := collect(records, experiment.Measured{Cell: cell, Arm: arm}.Name())
			if len(g.rounds) == 0 && g.invalid == 0 {
				continue
			}
			r := row(cell, arm, g)
			r.Metric = experiment.Metric(cell)
			if o, rounds := against(base, g, r.Metric); arm != baseline && rounds > 0 {
				r.OverheadPercent, r.OverheadLow, r.OverheadHigh, r.PValue = o.texts()
				r.Significant = all.add(o)
			}
			out = append(out, r)
		}
	}
	comparisons := comparisons(s, records, &all)
	all.decide()
	return out, comparisons
}

// comparisons are those of spec.compare of which something is known.
func comparisons(s *v1alpha1.GaleraBenchmarkSpec, records []result.Record, all *family) (
	out []v1alpha1.BenchmarkComparison) {
	for _, p := range experiment.Pairs(s) {
		metric := experiment.Metric(p.Of.Cell)
		o, rounds := against(collect(records, p.With.Name()), collect(records, p.Of.Name()), metric)
		if rounds == 0 {
			continue
		}
		c := v1alpha1.BenchmarkComparison{Of: p.Of.Name(), With: p.With.Name(), Metric: metric, Rounds: int32(rounds),
			Significant: all.add(o)} //nolint:gosec // at most 20
		c.OverheadPercent, c.OverheadLow, c.OverheadHigh, c.PValue = o.texts()
		out = append(out, c)
	}
	return out
}

// family is the comparisons of one report.
type family struct {
	ps  []float64
	are []*bool
}

// add returns where decide writes whether a comparison is significant.
func (f *family) add(o Overhead) *bool {
	is := false
	if o.Known {
		f.ps, f.are = append(f.ps, o.P), append(f.are, &is)
	}
	return &is
}

func (f *family) decide() {
	for i, is := range Holm(f.ps) {
		*f.are[i] = is
	}
}

// group is what is known of one arm in one cell.
type group struct {
	// rounds holds the figures of the run that counts, by round.
	rounds  map[int]map[string]float64
	invalid int
}

func collect(records []result.Record, c v1alpha1.BenchmarkCell) group {
	g := group{rounds: map[int]map[string]float64{}}
	for _, r := range records {
		if r.Arm != c.Arm || r.Workload != c.Workload || r.Variant != c.Variant {
			continue
		}
		if r.Valid && r.Output != nil {
			g.rounds[r.Round] = r.Output.Figures()
		} else {
			g.invalid++
		}
	}
	return g
}

// values of a figure, in the order of rounds.
func (g group) values(figure string) (out []float64) {
	for round := range maxRounds + 1 {
		if v, ok := g.rounds[round][figure]; ok {
			out = append(out, v)
		}
	}
	return out
}

const maxRounds = 20

func row(c experiment.Cell, arm string, g group) v1alpha1.BenchmarkResult {
	r := v1alpha1.BenchmarkResult{Workload: c.Workload.Name, Variant: c.Variant, Arm: arm,
		Samples: int32(len(g.rounds)), Invalid: int32(g.invalid)} //nolint:gosec // at most 20 rounds and 11 attempts
	for _, name := range result.FigureNames {
		if f, ok := Summarise(g.values(name)); ok {
			r.Figures = append(r.Figures, v1alpha1.BenchmarkFigure{Name: name, Median: Decimal(f.Median), Low: Decimal(f.Low),
				High: Decimal(f.High)})
		}
	}
	return r
}

// against pairs the rounds both have, and returns how many there are.
func against(base, arm group, metric string) (Overhead, int) {
	a, b := base.paired(arm, metric)
	return Compare(a, b, result.LowerIsBetter(metric)), len(a)
}

// paired returns the values of a figure in the rounds both have.
func (g group) paired(other group, figure string) (a, b []float64) {
	for round := range maxRounds + 1 {
		x, ok1 := g.rounds[round][figure]
		y, ok2 := other.rounds[round][figure]
		if ok1 && ok2 {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b
}

// Ratios pairs two results by the metric of base: the ratios of other to base in the rounds both have.
func Ratios(records []result.Record, base, other v1alpha1.BenchmarkResult) Paired {
	return PairOf(collect(records, cellOf(base)).paired(collect(records, cellOf(other)), base.Metric))
}

// texts of an overhead, as the status has them.
func (o Overhead) texts() (percent, low, high, p string) {
	if o.Known {
		low, high, p = Decimal(o.Low), Decimal(o.High), strconv.FormatFloat(o.P, 'g', 3, 64)
	}
	return Decimal(o.Percent), low, high, p
}

// Decimal writes a number with four significant digits, and no exponent.
func Decimal(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	digits := max(0, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	s := strconv.FormatFloat(v, 'f', min(digits, 6), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Verdict returns the answer in one line: of every arm the first difference from the baseline that is proved, in the
// order of the spec, and how many are; of an arm without one the first result. Where no arm differs from a baseline,
// the answer is that of the comparisons.
func Verdict(results []v1alpha1.BenchmarkResult, comparisons []v1alpha1.BenchmarkComparison) string {
	proved, all, cells := 0, 0, map[string]bool{}
	chosen, order := map[string]v1alpha1.BenchmarkResult{}, []string{}
	if !slices.ContainsFunc(results, func(r v1alpha1.BenchmarkResult) bool { return r.OverheadPercent != "" }) {
		results = asResults(comparisons)
	}
	for _, r := range results {
		if r.OverheadPercent == "" {
			continue
		}
		all++
		cells[Title(r)] = true
		have, is := chosen[r.Arm]
		if !is {
			order = append(order, r.Arm)
		}
		if !is || significant(r) && !significant(have) {
			chosen[r.Arm] = r
		}
		if significant(r) {
			proved++
		}
	}
	var parts []string
	for _, arm := range order {
		r := chosen[arm]
		text := arm + ": " + Cost(r)
		if len(cells) > 1 {
			text += " in " + Title(r)
		}
		parts = append(parts, text)
	}
	text := ""
	for i := range parts { // as many whole ones as there is space for
		if next := strings.Join(parts[:i+1], "; "); i == 0 || len([]rune(next)) <= maxVerdict {
			text = next
		}
	}
	if runes := []rune(text); len(runes) > maxVerdict {
		text = string(runes[:maxVerdict-1]) + "…"
	}
	if all > 1 {
		text += fmt.Sprintf("; %d of %d differences are significant", proved, all)
	}
	return text
}

// asResults names each comparison by its two cells.
func asResults(comparisons []v1alpha1.BenchmarkComparison) (out []v1alpha1.BenchmarkResult) {
	for _, c := range comparisons {
		r := ResultOf(c)
		r.Workload, r.Variant, r.Arm = "", "", CellName(c.Of)+" against "+CellName(c.With)
		out = append(out, r)
	}
	return out
}

// ResultOf returns a comparison as Cost takes it.
func ResultOf(c v1alpha1.BenchmarkComparison) v1alpha1.BenchmarkResult {
	return v1alpha1.BenchmarkResult{Workload: c.Of.Workload, Variant: c.Of.Variant, Arm: c.Of.Arm, Metric: c.Metric,
		OverheadPercent: c.OverheadPercent, OverheadLow: c.OverheadLow, OverheadHigh: c.OverheadHigh,
		Significant: c.Significant}
}

// CellName returns a cell in words, for instance "pooled threads=16 encrypted".
func CellName(c v1alpha1.BenchmarkCell) string {
	return strings.Join(strings.Fields(c.Workload+" "+c.Variant+" "+c.Arm), " ")
}

func significant(r v1alpha1.BenchmarkResult) bool { return r.Significant != nil && *r.Significant }

func cellOf(r v1alpha1.BenchmarkResult) v1alpha1.BenchmarkCell {
	return v1alpha1.BenchmarkCell{Workload: r.Workload, Variant: r.Variant, Arm: r.Arm}
}

// FigureOf returns a figure of a result; that of a result without it has no name.
func FigureOf(r v1alpha1.BenchmarkResult, name string) v1alpha1.BenchmarkFigure {
	for _, f := range r.Figures {
		if f.Name == name {
			return f
		}
	}
	return v1alpha1.BenchmarkFigure{}
}

// Title returns the workload of a result with its variant.
func Title(r v1alpha1.BenchmarkResult) string { return strings.TrimSpace(r.Workload + " " + r.Variant) }

const maxVerdict = 240

// Cost returns what an arm costs, in words, for instance "−4.1 % tps (±1.2)", or with the ends of the interval when
// it is so wide that it is much longer on one side, for instance "−57.2 % tps (−86.0 to +138.4)".
func Cost(r v1alpha1.BenchmarkResult) string {
	percent, err := strconv.ParseFloat(r.OverheadPercent, 64)
	if err != nil {
		return "not known"
	}
	unit := map[string]string{result.FigureTPS: "tps", result.FigureQPS: "queries/s",
		result.FigureConnectionsPerSecond: "connections/s", result.FigureSeconds: "time",
		result.FigureMegabytesPerSecond: "MB/s"}[r.Metric]
	low, err1 := strconv.ParseFloat(r.OverheadLow, 64)
	high, err2 := strconv.ParseFloat(r.OverheadHigh, 64)
	if !result.LowerIsBetter(r.Metric) {
		percent, low, high = -percent, -high, -low
	}
	text := fmt.Sprintf("%s %% %s", signed(percent), unit)
	if err1 != nil || err2 != nil {
		return text + " (one round: no interval)"
	}
	if half := (high - low) / 2; math.Abs((high+low)/2-percent) <= half/4 {
		text += fmt.Sprintf(" (±%.1f)", half)
	} else {
		text += fmt.Sprintf(" (%s to %s)", signed(low), signed(high))
	}
	if r.Significant != nil && !*r.Significant {
		text += ", not significant"
	}
	return text
}

// signed writes a number with a true minus sign.
func signed(v float64) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', 1, 64)
	switch {
	case s == "0.0":
		return "±0.0"
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// Progress returns "14/27, ~6 min left". Before the first run the time left is estimated.
func Progress(done, all int, spent, estimate time.Duration) string {
	text := fmt.Sprintf("%d/%d", done, all)
	if done >= all {
		return text
	}
	left := estimate
	if done > 0 {
		left = time.Duration(float64(spent) / float64(done) * float64(all-done))
	}
	return text + ", " + about(left) + " left"
}

// about is a time in words.
func about(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "<1 min"
	case d < 2*time.Hour:
		return fmt.Sprintf("~%.0f min", d.Minutes())
	}
	return fmt.Sprintf("~%.0f h", d.Hours())
}

// MaxReason is how much of the reason of an invalid run the status keeps.
const MaxReason = 256

// Invalid returns the last runs that do not count.
func Invalid(records []result.Record) (out []v1alpha1.InvalidRun) {
	for _, r := range records {
		if !r.Valid {
			reason := r.Reason
			if len(reason) > MaxReason {
				reason = strings.ToValidUTF8(reason[:MaxReason], "")
			}
			out = append(out, v1alpha1.InvalidRun{Index: int32(r.Index), Attempt: int32(r.Attempt), Arm: r.Arm,
				Reason: reason}) //nolint:gosec // small numbers
		}
	}
	return out[max(0, len(out)-16):]
}
