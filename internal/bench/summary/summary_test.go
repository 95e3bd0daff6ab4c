package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func spec() *v1alpha1.GaleraBenchmarkSpec {
	return &v1alpha1.GaleraBenchmarkSpec{
		Cluster: v1alpha1.BenchmarkCluster{Template: &v1alpha1.GaleraClusterSpec{}},
		Arms: []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Replication: "Disabled"}},
			{Name: "encrypted", TLS: v1alpha1.BenchmarkTLS{Replication: "Required"}}},
		Rounds: 5,
		Workloads: []v1alpha1.BenchmarkWorkload{
			{Name: "write", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{8}}},
		},
	}
}

func record(round int, arm string, tps float64, valid bool) result.Record {
	return result.Record{
		Run:     result.Run{Round: round, Arm: arm, Workload: "write", Kind: result.KindOLTP},
		Verdict: result.Verdict{Valid: valid},
		Output:  &result.Output{OLTP: &result.OLTPResult{TPS: tps, Transactions: 100, P50: 1}},
	}
}

func records() []result.Record {
	return []result.Record{
		record(1, "plain", 1000, true), record(1, "encrypted", 950, true),
		record(2, "plain", 800, true), record(2, "encrypted", 770, true),
		record(3, "plain", 900, true), record(3, "encrypted", 1, false), record(3, "encrypted", 862, true),
	}
}

func TestResults(t *testing.T) {
	results, _ := Results(spec(), records())
	if len(results) != 2 || results[0].Arm != "plain" || results[0].OverheadPercent != "" {
		t.Fatalf("got %+v", results)
	}
	r := results[1]
	if r.Samples != 3 || r.Invalid != 1 || r.Metric != "tps" || !*r.Significant {
		t.Errorf("got %+v", r)
	}
	if r.OverheadPercent != "4.325" || r.OverheadLow > r.OverheadHigh {
		t.Errorf("overhead %s [%s, %s]", r.OverheadPercent, r.OverheadLow, r.OverheadHigh)
	}
	if f := r.Figures[0]; f.Name != "tps" || f.Median != "862" || f.Low != "770" || f.High != "950" {
		t.Errorf("figure: %+v", f)
	}
	if got := Verdict(results, nil); !strings.HasPrefix(got,
		"encrypted: −4.3 % tps (±") {
		t.Errorf("got %q", got)
	}
}

func TestCost(t *testing.T) {
	for want, r := range map[string]v1alpha1.BenchmarkResult{
		"−4.1 % tps (±1.2)": {Metric: "tps", OverheadPercent: "4.1", OverheadLow: "2.9",
			OverheadHigh: "5.3"},
		"−57.2 % tps (−86.0 to +138.4)": {Metric: "tps", OverheadPercent: "57.2", OverheadLow: "-138.4",
			OverheadHigh: "86"},
		"+20.0 % time (−30.0 to +106.0)": {Metric: "seconds", OverheadPercent: "20", OverheadLow: "-30",
			OverheadHigh: "106"},
		"+20.0 % time (±5.0)": {Metric: "seconds", OverheadPercent: "20", OverheadLow: "15.2",
			OverheadHigh: "25.2"},
		"+311.2 % MB/s (±6.1)": {Metric: "megabytesPerSecond", OverheadPercent: "-311.2", OverheadLow: "-317.3",
			OverheadHigh: "-305.1"},
		"−5.0 % tps (one round: no interval)": {Metric: "tps", OverheadPercent: "5"},
	} {
		if got := Cost(r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestOneRoundSaysSo(t *testing.T) {
	results, _ := Results(spec(), records()[:2])
	if got := Verdict(results, nil); got != "encrypted: −5.0 % tps (one round: no interval)" {
		t.Errorf("got %q", got)
	}
	if got := Verdict(nil, nil); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestNotSignificantSaysSo(t *testing.T) {
	results, _ := Results(spec(), []result.Record{
		record(1, "plain", 1000, true), record(1, "encrypted", 950, true),
		record(2, "plain", 800, true), record(2, "encrypted", 850, true),
	})
	if got := Verdict(results, nil); !strings.HasSuffix(got, "not significant") {
		t.Errorf("got %q", got)
	}
}

// TestHolm: each P is compared with the limit divided by how many are left, until the first that is too large.
func TestHolm(t *testing.T) {
	for name, tc := range map[string]struct {
		ps   []float64
		want []bool
	}{
		"none":                      {nil, []bool{}},
		"one":                       {[]float64{0.04}, []bool{true}},
		"two, each enough alone":    {[]float64{0.03, 0.025}, []bool{false, false}},
		"the smaller lets the rest": {[]float64{0.03, 0.02}, []bool{true, true}},
		"stops at the first":        {[]float64{0.001, 0.039, 0.021}, []bool{true, false, false}},
	} {
		if got := Holm(tc.ps); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

// many is a report with 24 comparisons, in which no arm makes a difference.
func many(r *rand.Rand, rounds int) (*v1alpha1.GaleraBenchmarkSpec, []result.Record) {
	s := spec()
	s.Arms = append(s.Arms, v1alpha1.BenchmarkArm{Name: "other"}, v1alpha1.BenchmarkArm{Name: "another"})
	s.Workloads[0].OLTP.Threads = []int32{1, 2, 3, 4, 5, 6, 7, 8}
	var all []result.Record
	for _, c := range experiment.Cells(s) {
		for _, a := range s.Arms {
			for round := range rounds {
				one := record(round+1, a.Name, 1000*math.Exp(0.05*r.NormFloat64()), true)
				one.Variant = c.Variant
				all = append(all, one)
			}
		}
	}
	return s, all
}

// TestManyComparisonsProveNoMoreByChance: of reports without any difference at most one in twenty has one.
func TestManyComparisonsProveNoMoreByChance(t *testing.T) {
	const cases = 150
	r, found := rand.New(rand.NewPCG(5, 5)), 0
	for range cases {
		results, comparisons := Results(many(r, 3))
		if len(results) != 32 || len(comparisons) != 16 {
			t.Fatalf("%d results, %d comparisons", len(results), len(comparisons))
		}
		if slices.ContainsFunc(results, significant) || slices.ContainsFunc(comparisons,
			func(c v1alpha1.BenchmarkComparison) bool { return *c.Significant }) {
			found++
		}
	}
	if found > cases/20 {
		t.Errorf("%.1f %% of the reports have a significant difference", 100*float64(found)/cases)
	}
}

// TestComparisons: any two cells are compared round by round, and a reversed pair has the reversed sign.
func TestComparisons(t *testing.T) {
	s := spec()
	s.Compare = []v1alpha1.BenchmarkCompare{
		{Of: v1alpha1.BenchmarkCell{Workload: "write", Arm: "encrypted"},
			With: v1alpha1.BenchmarkCellPart{Arm: new("plain")}},
		{Of: v1alpha1.BenchmarkCell{Workload: "write", Arm: "plain"},
			With: v1alpha1.BenchmarkCellPart{Arm: new("encrypted")}},
	}
	results, got := Results(s, records())
	if len(got) != 2 || got[0].OverheadPercent != results[1].OverheadPercent ||
		got[0].OverheadLow != results[1].OverheadLow || got[0].Rounds != 3 || got[0].Metric != "tps" {
		t.Fatalf("got %+v", got)
	}
	if got[1].OverheadPercent != "-4.521" || got[1].Of.Arm != "plain" || got[1].With.Arm != "encrypted" {
		t.Errorf("the other way round: %+v", got[1])
	}
}

// TestVerdictNamesWhatIsProved: a difference that may be chance is no headline where another is proved.
func TestVerdictNamesWhatIsProved(t *testing.T) {
	row := func(variant, percent string, significant bool) v1alpha1.BenchmarkResult {
		return v1alpha1.BenchmarkResult{Workload: "answers", Variant: variant, Arm: "encrypted", Metric: "qps",
			OverheadPercent: percent, OverheadLow: percent, OverheadHigh: percent, Significant: &significant}
	}
	got := Verdict([]v1alpha1.BenchmarkResult{{Workload: "answers", Variant: "size=100", Arm: "plain"},
		row("size=100", "3", false), row("size=1048576", "21.9", true)}, nil)
	const want = "encrypted: −21.9 % queries/s (±0.0) in answers size=1048576; 1 of 2 differences are significant"
	if got != want {
		t.Errorf("got %q", got)
	}
}

// TestVerdictOfComparisons: of one arm alone the headline is what else was compared.
func TestVerdictOfComparisons(t *testing.T) {
	cell := func(workload string) v1alpha1.BenchmarkCell {
		return v1alpha1.BenchmarkCell{Workload: workload, Variant: "threads=1", Arm: "encrypted"}
	}
	comparisons := []v1alpha1.BenchmarkComparison{{Of: cell("pooled"), With: cell("direct"), Metric: "tps",
		OverheadPercent: "26.2", OverheadLow: "26.2", OverheadHigh: "26.2", Significant: new(true)}}
	alone := []v1alpha1.BenchmarkResult{{Workload: "direct", Variant: "threads=1", Arm: "encrypted", Metric: "tps"}}
	const want = "pooled threads=1 encrypted against direct threads=1 encrypted: −26.2 % tps (±0.0)"
	if got := Verdict(alone, comparisons); got != want {
		t.Errorf("got %q", got)
	}
	arms := append(slices.Clone(alone), v1alpha1.BenchmarkResult{Workload: "direct", Arm: "plain", Metric: "tps",
		OverheadPercent: "1", OverheadLow: "1", OverheadHigh: "1", Significant: new(true)})
	if got := Verdict(arms, comparisons); got != "plain: −1.0 % tps (±0.0)" {
		t.Errorf("got %q", got)
	}
}

func TestDecimal(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1234567: "1234567", 12.3456: "12.35", 0.0012345: "0.001234",
		-4.1: "-4.1", 100: "100", 1e-9: "0"} {
		if got := Decimal(v); got != want && got+".0" != want {
			t.Errorf("%g: got %q, want %q", v, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	for want, got := range map[string]string{
		"0/27, ~5 min left":  Progress(0, 27, time.Hour, 5*time.Minute),
		"0/27, ~3 h left":    Progress(0, 27, 0, 3*time.Hour),
		"14/27, ~6 min left": Progress(14, 27, 390*time.Second, time.Hour),
		"26/27, <1 min left": Progress(26, 27, 10*time.Minute, time.Hour),
		"27/27":              Progress(27, 27, time.Hour, time.Hour),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
