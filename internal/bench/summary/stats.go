package summary

import (
	"math"

	"golang.org/x/perf/benchmath"
)

// confidence of the intervals of medians, and at least that of those of differences.
const confidence = 0.95

// spread is what intervals of differences are made for. Student's t is exact for normal noise, so that with 95 % just
// one in twenty pairs of identical arms would pass for different, and some more of those whose noise has shorter tails.
const spread = 0.96

// Figure is a median with its confidence interval.
type Figure struct{ Median, Low, High float64 }

// Summarise returns the median of values; it assumes nothing of their distribution. ok is false
// when there are none.
func Summarise(values []float64) (f Figure, ok bool) {
	if len(values) == 0 {
		return Figure{}, false
	}
	sorted := append([]float64(nil), values...)
	s := benchmath.NewSample(sorted, &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, confidence)
	f = Figure{Median: sum.Center, Low: sum.Lo, High: sum.Hi}
	if math.IsInf(f.Low, 0) || math.IsInf(f.High, 0) || math.IsNaN(f.Low) || math.IsNaN(f.High) {
		// Fewer than six values give an interval of 95 % no ends. That from the smallest to the largest has the median in
		// it unless all values lie on one side of it.
		f.Low, f.High = sorted[0], sorted[len(sorted)-1]
	}
	return f, true
}

// Overhead is what one costs against another, in percent.
type Overhead struct {
	Percent, Low, High float64
	// Known is false with fewer than two rounds: then there is no interval.
	Known bool
	// P is how probable a difference at least this large is by chance; 1 where it is not known.
	P float64
	// Significant reports whether P is small enough for a single comparison. Of several, Holm decides.
	Significant bool
}

// Compare returns the overhead of arm against baseline; values of the same index were measured
// in the same round, one shortly after the other, so what drifts from round to round cancels out.
// With lowerIsBetter, more is the overhead; otherwise less is.
func Compare(baseline, arm []float64, lowerIsBetter bool) Overhead {
	p := PairOf(baseline, arm)
	if p.N() == 0 {
		return Overhead{P: 1}
	}
	low, high, known := p.Interval(spread)
	o := Overhead{Percent: percent(p.Mean()), Low: percent(low), High: percent(high), Known: known, P: p.P()}
	if !lowerIsBetter {
		o.Percent, o.Low, o.High = -o.Percent, -o.High, -o.Low
	}
	if !known || math.IsInf(o.Low, 0) || math.IsInf(o.High, 0) {
		return Overhead{Percent: o.Percent, P: 1}
	}
	o.Significant = o.P <= 1-spread
	return o
}

func percent(logRatio float64) float64 { return 100 * (math.Exp(logRatio) - 1) }
