package summary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestSummarise(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   Figure
	}{
		"one":  {[]float64{7}, Figure{7, 7, 7, 0}},
		"five": {[]float64{5, 1, 4, 2, 3}, Figure{3, 1, 5, 0.9375}},
		"odd":  {[]float64{9, 1, 2, 3, 4, 5, 6, 7, 8}, Figure{Median: 5, Low: 2, High: 8, Confidence: 0.9609}},
	} {
		got, ok := Summarise(tc.values)
		if !ok || got.Median != tc.want.Median || got.Low != tc.want.Low || got.High != tc.want.High ||
			math.Abs(got.Confidence-tc.want.Confidence) > 0.01 {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
	if _, ok := Summarise(nil); ok {
		t.Error("a median of nothing")
	}
}

func TestCompareKnown(t *testing.T) {
	// Ratios of about 0.9 in rounds that differ by a factor of two.
	o := Compare([]float64{100, 200, 150}, []float64{90, 180.2, 134.9}, false)
	if math.Abs(o.Percent-10) > 0.1 || !o.Significant {
		t.Errorf("a tenth fewer: %+v", o)
	}
	if o = Compare([]float64{100, 200, 150}, []float64{110, 220.2, 164.9}, true); math.Abs(o.Percent-10) > 0.1 ||
		!o.Significant {
		t.Errorf("a tenth longer: %+v", o)
	}
	if o = Compare([]float64{100}, []float64{90}, false); o.Known || o.Significant || math.Abs(o.Percent-10) > 1e-9 {
		t.Errorf("one round: %+v", o)
	}
	if o = Compare(nil, []float64{1}, false); o != (Overhead{P: 1}) {
		t.Errorf("nothing to compare with: %+v", o)
	}
	// By hand: log ratios -0.1, -0.2, -0.3, -0.2 have mean -0.2 and standard error 0.040825; t(3) is 3.4819 for 96 %.
	o = Compare([]float64{1, 1, 1, 1}, []float64{math.Exp(-0.1), math.Exp(-0.2), math.Exp(-0.3), math.Exp(-0.2)}, false)
	if want := 100 * (1 - math.Exp(-0.2+3.48191*0.0408248)); math.Abs(o.Low-want) > 0.01 {
		t.Errorf("low end: %+v, want %.3f", o, want)
	}
	// t = -0.2/0.040825 = -4.899, and 2*P(T(3) < -4.899) is 0.0163.
	if math.Abs(o.P-0.0163) > 0.0001 {
		t.Errorf("P: %+v", o)
	}
}

// TestRoundedValuesProveNothing: rounds that have the same ratio to the last digit were rounded, and an interval
// without a width would pass for the best of all.
func TestRoundedValuesProveNothing(t *testing.T) {
	o := Compare([]float64{8, 16, 12}, []float64{6, 12, 9}, false)
	if o.Known || o.Significant || o.P != 1 || math.Abs(o.Percent-25) > 1e-9 {
		t.Errorf("three of four each time: %+v", o)
	}
	if _, _, _, p, ok := Independent([]float64{8, 8}, []float64{6, 6}); ok || p != 1 {
		t.Errorf("the same rates in all runs: P %g, %v", p, ok)
	}
}

// noises of one run, as logarithms, all with a standard deviation of 1.
var noises = map[string]func(*rand.Rand) float64{
	"normal":      func(r *rand.Rand) float64 { return r.NormFloat64() },
	"skewed":      func(r *rand.Rand) float64 { return -r.ExpFloat64() },                   // some are much slower
	"long-tailed": func(r *rand.Rand) float64 { return -math.Exp(r.NormFloat64()) / 2.16 }, // and some are slower yet
	"short tails": func(r *rand.Rand) float64 { return math.Sqrt(12) * r.Float64() },
}

// rounds draws one round after the other: both arms share what drifts, and each has noise of its own.
func rounds(r *rand.Rand, n int, effect, width float64, noise func(*rand.Rand) float64) (base, arm []float64) {
	for range n {
		drift := 1000 * math.Exp(0.2*r.NormFloat64())
		base = append(base, drift*math.Exp(width*noise(r)))
		arm = append(arm, drift*effect*math.Exp(width*noise(r)))
	}
	return base, arm
}

// TestIdenticalArmsAreNotSignificant in at least 95 % of the cases, whatever the noise and the number of rounds.
func TestIdenticalArmsAreNotSignificant(t *testing.T) {
	const cases = 20000
	for name, noise := range noises {
		for _, n := range []int{3, 5, 10, 20} {
			t.Run(fmt.Sprintf("%s noise, %d rounds", name, n), func(t *testing.T) {
				t.Parallel()
				r, found := rand.New(rand.NewPCG(1, uint64(n))), 0
				for range cases {
					if base, arm := rounds(r, n, 1, 0.05, noise); Compare(base, arm, false).Significant {
						found++
					}
				}
				if found > cases/20 {
					t.Errorf("%.2f %% of identical arms differ", 100*float64(found)/cases)
				}
			})
		}
	}
}

// TestInjectedDifferenceIsFound: a tenth fewer, in noise of 2 %.
func TestInjectedDifferenceIsFound(t *testing.T) {
	const cases = 1000
	for name, noise := range noises {
		r, found := rand.New(rand.NewPCG(2, 2)), 0
		for range cases {
			base, arm := rounds(r, 5, 0.9, 0.02, noise)
			o := Compare(base, arm, false)
			if o.Significant && o.Low < 10 && o.High > 10 || o.Significant && math.Abs(o.Percent-10) < 5 {
				found++
			}
		}
		if found < 950 {
			t.Errorf("%s noise: found in %d of %d cases", name, found, cases)
		}
	}
}

// TestIndependent: Welch's test of what was not measured in the same rounds, by hand.
func TestIndependent(t *testing.T) {
	e := math.Exp
	// Means 2 and 4, variances 1 and 4, three values each: t = 2/sqrt(1/3+4/3) = 1.549, 2.941 degrees of freedom, P =
	// 0.221.
	ratio, low, high, p, ok := Independent([]float64{e(1), e(2), e(3)}, []float64{e(2), e(4), e(6)})
	if !ok || math.Abs(ratio-2) > 1e-9 || math.Abs(p-0.221) > 0.002 || low >= 0 || high <= 4 ||
		math.Abs(low+high-4) > 1e-6 {
		t.Errorf("got %g [%g, %g], P %g, %v", ratio, low, high, p, ok)
	}
	if _, _, _, _, ok := Independent([]float64{1}, []float64{1, 2}); ok {
		t.Error("one value has no variance")
	}
}
