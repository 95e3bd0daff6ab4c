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
		"one":  {[]float64{7}, Figure{7, 7, 7}},
		"five": {[]float64{5, 1, 4, 2, 3}, Figure{3, 1, 5}},
		"odd":  {[]float64{9, 1, 2, 3, 4, 5, 6, 7, 8}, Figure{5, 2, 8}},
	} {
		got, ok := Summarise(tc.values)
		if !ok || got != tc.want {
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
	return unequalRounds(r, n, effect, width, noise, noise)
}

// unequalRounds draws rounds of two whose noise differs, as those of a pooled connection and a new one do.
func unequalRounds(r *rand.Rand, n int, effect, width float64, of, other func(*rand.Rand) float64) (base,
	arm []float64) {
	for range n {
		drift := 1000 * math.Exp(0.2*r.NormFloat64())
		base = append(base, drift*math.Exp(width*of(r)))
		arm = append(arm, drift*effect*math.Exp(width*other(r)))
	}
	return base, arm
}

// TestIdenticalArmsAreNotSignificant in at least 95 % of the cases, whatever the noise and the number of rounds.
func TestIdenticalArmsAreNotSignificant(t *testing.T) {
	const cases = 20000
	for name, noise := range noises {
		for _, n := range []int{2, 3, 4, 6, 10, 20} {
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

// TestUnequalNoise: two of the same geometric mean, of which one alone has skewed noise, pass for different more often
// than one in twenty: the ratios of their rounds are skewed, and Student's t is made for symmetric ones.
// docs/benchmarks.md has these figures.
func TestUnequalNoise(t *testing.T) {
	const cases = 20000
	normal := func(r *rand.Rand) float64 { return 0.2 * r.NormFloat64() }
	for name, tc := range map[string]struct {
		noise func(*rand.Rand) float64 // its mean is 0
		n     int
		most  float64
	}{
		"skewed, 4 rounds":       {func(r *rand.Rand) float64 { return 1 - r.ExpFloat64() }, 4, 0.10},
		"skewed, 6 rounds":       {func(r *rand.Rand) float64 { return 1 - r.ExpFloat64() }, 6, 0.10},
		"skewed, 10 rounds":      {func(r *rand.Rand) float64 { return 1 - r.ExpFloat64() }, 10, 0.10},
		"wider alone, 6 rounds":  {func(r *rand.Rand) float64 { return r.NormFloat64() }, 6, 0.05},
		"wider alone, 10 rounds": {func(r *rand.Rand) float64 { return r.NormFloat64() }, 10, 0.05},
	} {
		r, found := rand.New(rand.NewPCG(5, uint64(tc.n))), 0
		for range cases {
			if base, arm := unequalRounds(r, tc.n, 1, 0.05, normal, tc.noise); Compare(base, arm, false).Significant {
				found++
			}
		}
		rate := float64(found) / cases
		if t.Logf("%s: %.1f %%", name, 100*rate); rate > tc.most {
			t.Errorf("%s: %.2f %% of two alike differ", name, 100*rate)
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
