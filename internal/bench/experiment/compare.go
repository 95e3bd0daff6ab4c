package experiment

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// Measured is one arm in one cell.
type Measured struct {
	Cell Cell
	Arm  string
}

// Name returns it as the API has it.
func (m Measured) Name() v1alpha1.BenchmarkCell {
	return v1alpha1.BenchmarkCell{Workload: m.Cell.Workload.Name, Variant: m.Cell.Variant, Arm: m.Arm}
}

// Pair is two that are compared, besides every arm with the baseline.
type Pair struct{ Of, With Measured }

// maxPairs of the default are compared; the API admits as many.
const maxPairs = 32

// Pairs returns those of spec.compare, or its default: in every cell, each arm but the baseline with the first of these
// arms. Those that Comparable refuses are left out.
func Pairs(s *v1alpha1.GaleraBenchmarkSpec) (out []Pair) {
	for _, c := range s.Compare {
		if of, with, why := resolve(s, c); why == "" {
			out = append(out, Pair{of, with})
		}
	}
	arms := Arms(s)
	if len(s.Compare) > 0 || len(arms) < 3 {
		return out
	}
	for _, cell := range Cells(s) {
		for _, arm := range arms[2:] {
			if cell.Kind != result.KindCipher && len(out) < maxPairs {
				out = append(out, Pair{Measured{cell, arm}, Measured{cell, arms[1]}})
			}
		}
	}
	return out
}

// Comparable returns why an entry of spec.compare cannot be compared, "" when all can.
func Comparable(s *v1alpha1.GaleraBenchmarkSpec) string {
	for i, c := range s.Compare {
		if _, _, why := resolve(s, c); why != "" {
			return fmt.Sprintf("spec.compare[%d]: %s", i, why)
		}
	}
	return ""
}

// resolve finds both cells of an entry.
func resolve(s *v1alpha1.GaleraBenchmarkSpec, c v1alpha1.BenchmarkCompare) (of, with Measured, why string) {
	other := c.Of
	for value, part := range map[*string]*string{&other.Workload: c.With.Workload, &other.Variant: c.With.Variant,
		&other.Arm: c.With.Arm} {
		if part != nil {
			*value = *part
		}
	}
	if of, why = measured(s, c.Of); why != "" {
		return of, with, why
	}
	if with, why = measured(s, other); why != "" {
		return of, with, why
	}
	switch {
	case other == c.Of:
		return of, with, "of and with are the same cell"
	case Metric(of.Cell) != Metric(with.Cell):
		return of, with,
			fmt.Sprintf("%s of %s and %s of %s cannot be compared; choose workloads that are measured by the same figure",
				Metric(of.Cell), c.Of.Workload, Metric(with.Cell), other.Workload)
	}
	return of, with, ""
}

// measured finds one cell by its name.
func measured(s *v1alpha1.GaleraBenchmarkSpec, c v1alpha1.BenchmarkCell) (m Measured, why string) {
	var variants []string
	for _, cell := range Cells(s) {
		if cell.Workload.Name != c.Workload {
			continue
		}
		if !serves(s, c.Arm, cell) {
			return m, fmt.Sprintf("the workload %q goes through a GaleraProxy, and is not measured against the arm %q, whose "+
				"clients have no TLS", c.Workload, c.Arm)
		}
		if cell.Variant == c.Variant && slices.Contains(Arms(s), c.Arm) {
			return Measured{cell, c.Arm}, ""
		}
		variants = append(variants, fmt.Sprintf("%q", cell.Variant))
	}
	return m, fmt.Sprintf("the workload %q has no variant %q; it has: %s", c.Workload, c.Variant,
		strings.Join(variants, ", "))
}

// Metric is the figure the overhead of a cell speaks of.
func Metric(c Cell) string {
	switch {
	case c.Kind == result.KindOLTP && c.Workload.OLTP.Events > 0, c.Kind == result.KindTransfer:
		return result.FigureSeconds
	case c.Kind == result.KindConnect && c.Workload.Connect.Connections > 0:
		return result.FigureSeconds
	case c.Kind == result.KindConnect:
		return result.FigureConnectionsPerSecond
	case c.Kind == result.KindResultSize:
		return result.FigureQPS
	case c.Kind == result.KindCipher:
		return result.FigureMegabytesPerSecond
	}
	return result.FigureTPS
}
