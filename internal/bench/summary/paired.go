package summary

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/aclements/go-moremath/stats"
)

// Paired holds the logarithms of the ratios of two, one for each round in which both were measured. They are taken to
// be normal: Student's t gives their interval. In rounds of two identical arms they are symmetric, however skewed the
// noise of each is.
type Paired struct{ ratios []float64 }

// PairOf returns the ratios of other to base; values of the same index are of the same round.
func PairOf(base, other []float64) (p Paired) {
	for i := range min(len(base), len(other)) {
		if base[i] > 0 && other[i] > 0 {
			p.ratios = append(p.ratios, math.Log(other[i]/base[i]))
		}
	}
	return p
}

// sharpest is a spread of logarithms below which ratios are equal but for the rounding of their computation.
const sharpest = 1e-9

// rounded reports whether all rounds have the same ratio, to the last digit. No measurement repeats itself like that:
// its values were rounded, and their spread is not known.
func (p Paired) rounded() bool { return stats.StdDev(p.ratios) < sharpest }

// N is the number of rounds.
func (p Paired) N() int { return len(p.ratios) }

// Mean is the logarithm of the geometric mean of the ratios.
func (p Paired) Mean() float64 { return stats.Mean(p.ratios) }

// Interval returns the ends of the mean's interval. ok is false with fewer than two rounds, or without a spread.
func (p Paired) Interval(confidence float64) (low, high float64, ok bool) {
	if len(p.ratios) < 2 || p.rounded() {
		return 0, 0, false
	}
	freedom := float64(len(p.ratios) - 1)
	half := quantile(freedom, confidence) * stats.StdDev(p.ratios) / math.Sqrt(freedom+1)
	return p.Mean() - half, p.Mean() + half, true
}

// P is the probability of a mean at least this far from zero when both are the same, by the two-sided t-test; 1 when it
// is not known.
func (p Paired) P() float64 {
	if len(p.ratios) < 2 || p.rounded() {
		return 1
	}
	t := p.Mean() * math.Sqrt(float64(len(p.ratios))) / stats.StdDev(p.ratios)
	return 2 * stats.TDist{V: float64(len(p.ratios) - 1)}.CDF(-math.Abs(t))
}

// quantiles are those that were computed: many intervals are of as many rounds.
var quantiles sync.Map

// quantile is how many standard errors an interval has on each side.
func quantile(freedom, confidence float64) float64 {
	of := [2]float64{freedom, confidence}
	known, ok := quantiles.Load(of)
	if !ok {
		known = stats.InvCDF(stats.TDist{V: freedom})((1 + confidence) / 2)
		quantiles.Store(of, known)
	}
	return known.(float64)
}

// Holm reports which of several comparisons are significant: in all of them together one in twenty-five times at most
// one is found where there is no difference at all. The smallest P is compared with the limit divided by their number,
// the next with the limit divided by one less, and so on until the first that is too large.
func Holm(ps []float64) []bool {
	out := make([]bool, len(ps))
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	for rank, i := range order {
		if ps[i] > (1-spread)/float64(len(ps)-rank) {
			break
		}
		out[i] = true
	}
	return out
}

// Simultaneous is the confidence of one of n intervals which together hold all their values.
func Simultaneous(n int) float64 { return 1 - (1-spread)/float64(max(n, 1)) }
