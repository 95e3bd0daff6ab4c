package summary

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// confidence of the intervals of medians, and at least that of those of differences.
const confidence = 0.95

// spread is what intervals of differences are made for. Student's t is exact for normal noise, so that with 95 % just one
// in twenty pairs of identical arms would pass for different, and some more of those whose noise has shorter tails.
const spread = 0.96

// Figure is a median with its confidence interval.
type Figure struct {
	Median, Low, High float64
	// Confidence of the interval: less than 0.95 when there were fewer than 6 values, as the
	// interval is then from the smallest to the largest.
	Confidence float64
}

// Summarise returns the median of values; it assumes nothing of their distribution. ok is false
// when there are none.
func Summarise(values []float64) (f Figure, ok bool) {
	if len(values) == 0 {
		return Figure{}, false
	}
	sorted := append([]float64(nil), values...)
	s := benchmath.NewSample(sorted, &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, confidence)
	f = Figure{Median: sum.Center, Low: sum.Lo, High: sum.Hi, Confidence: sum.Confidence}
	if math.IsInf(f.Low, 0) || math.IsInf(f.High, 0) || math.IsNaN(f.Low) || math.IsNaN(f.High) {
		// So few values give an interval of 95 % no ends. That from the smallest to the largest has
		// the median in it unless all values lie on one side of it.
		f.Low, f.High = sorted[0], sorted[len(sorted)-1]
		f.Confidence = 1 - math.Pow(2, float64(1-len(sorted)))
	}
	return f, true
}

// Overhead is what one arm costs against another, in percent.
type Overhead struct {
	Percent, Low, High float64
	// Known is false with fewer than two rounds: then there is no interval.
	Known bool
	// Significant says that the interval does not include zero.
	Significant bool
}

// Compare returns the overhead of arm against baseline; values of the same index were measured
// in the same round, one soon after the other, so what drifts from round to round cancels out.
// With lowerIsBetter, more is the overhead; otherwise less is.
//
// The logarithms of the ratios are taken to be normal: Student's t gives their interval. In rounds of two identical arms
// they are symmetric, however skewed the noise of each is.
func Compare(baseline, arm []float64, lowerIsBetter bool) Overhead {
	ratios := make([]float64, 0, len(arm))
	for i := range min(len(baseline), len(arm)) {
		if baseline[i] > 0 && arm[i] > 0 {
			ratios = append(ratios, math.Log(arm[i]/baseline[i]))
		}
	}
	if len(ratios) == 0 {
		return Overhead{}
	}
	sum := benchmath.AssumeNormal.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), spread)
	percent := func(logRatio float64) float64 { return 100 * (math.Exp(logRatio) - 1) }
	o := Overhead{Percent: percent(sum.Center), Low: percent(sum.Lo), High: percent(sum.Hi), Known: len(ratios) > 1}
	if !lowerIsBetter {
		o.Percent, o.Low, o.High = -o.Percent, -o.High, -o.Low
	}
	if !o.Known || math.IsNaN(o.Low) || math.IsInf(o.Low, 0) || math.IsInf(o.High, 0) {
		return Overhead{Percent: o.Percent}
	}
	o.Significant = o.Low > 0 || o.High < 0
	return o
}
