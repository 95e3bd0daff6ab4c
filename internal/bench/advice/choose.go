package advice

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// choice is one of several values of a setting, and where its results are found: pairs of a choice and the usual value,
// in the same workload, or in another variant of it.
type choice struct {
	value string
	pairs []pair
}

// pair is a choice alongside the usual value, with the ratios of their figures in the rounds that have both.
type pair struct {
	usual, other v1alpha1.BenchmarkResult
	ratios       summary.Paired
}

// pick returns the choice that is proved to be better than the usual value in some pair, and worse in none; of several
// the one with the greatest gain. The intervals hold together for all comparisons of the advice, and gain is the end of
// one: the least that is proved. ok is false when there is none.
func (s subject) pick(choices []choice) (best choice, gain float64, ok bool) {
	for _, c := range choices {
		least, refuted := math.Inf(1), false
		for _, p := range c.pairs {
			switch g, proved := s.gain(p); {
			case proved > 0:
				least = min(least, g)
			case proved < 0:
				refuted = true
			}
		}
		if !refuted && !math.IsInf(least, 1) && (!ok || least > gain) {
			best, gain, ok = c, least, true
		}
	}
	return best, gain, ok
}

// gain returns by how much another value is better than the usual one at least, as a share, and whether that is proved:
// 1 better, -1 worse, 0 neither.
func (s subject) gain(p pair) (least float64, proved int) {
	confidence := summary.Simultaneous(s.comparisons)
	if p.ratios.P() > 1-confidence {
		return 0, 0
	}
	low, high, _ := p.ratios.Interval(confidence)
	if result.LowerIsBetter(p.usual.Metric) {
		low, high = -high, -low
	}
	switch {
	case low > 0:
		return math.Exp(low) - 1, 1
	case high < 0:
		return 0, -1
	}
	return 0, 0
}

func metric(r v1alpha1.BenchmarkResult) string {
	i := slices.IndexFunc(r.Figures, func(f v1alpha1.BenchmarkFigure) bool { return f.Name == r.Metric })
	if i < 0 {
		return ""
	}
	return r.Figures[i].Median
}

func number(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v } // the operator wrote it

// pairOf pairs two results, round by round.
func (s subject) pairOf(usual, other v1alpha1.BenchmarkResult) pair {
	return pair{usual, other, summary.Ratios(s.records, cell(usual), cell(other), usual.Metric)}
}

func cell(r v1alpha1.BenchmarkResult) v1alpha1.BenchmarkCell {
	return v1alpha1.BenchmarkCell{Workload: r.Workload, Variant: r.Variant, Arm: r.Arm}
}

// betweenArms are choices among arms that encrypt, and that differ from one with the usual value in nothing else.
// without removes what they may differ in.
func (s subject) betweenArms(usual string, value func(v1alpha1.TLSSpec) string,
	without func(v1alpha1.TLSSpec) v1alpha1.TLSSpec) (out []choice) {
	for _, a := range s.arms {
		if value(a.tls) != usual || !encrypts(a.tls) {
			continue
		}
		for _, other := range s.arms {
			if value(other.tls) == usual || !experiment.SamePolicy(without(other.tls), without(a.tls)) {
				continue
			}
			c := choice{value: value(other.tls)}
			for _, r := range s.results {
				for _, o := range s.results {
					if r.Arm == a.name && o.Arm == other.name && title(r) == title(o) {
						c.pairs = append(c.pairs, s.pairOf(r, o))
					}
				}
			}
			if len(c.pairs) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

// encrypts reports whether a policy encrypts anything.
func encrypts(t v1alpha1.TLSSpec) bool {
	return t.Replication != v1alpha1.TLSDisabled || t.StateTransfer != v1alpha1.TLSDisabled ||
		t.Clients != v1alpha1.TLSDisabled
}

// betweenVariants are choices among variants of one workload and arm: key=usual against key=VALUE, everything else the
// same.
func (s subject) betweenVariants(key, usual string) (out []choice) {
	for _, r := range s.results {
		for _, o := range s.results {
			value := variant(o, key)
			if variant(r, key) != usual || value == "" || value == usual || o.Arm != r.Arm || o.Workload != r.Workload ||
				without(o, key) != without(r, key) {
				continue
			}
			i := slices.IndexFunc(out, func(c choice) bool { return c.value == value })
			if i < 0 {
				i, out = len(out), append(out, choice{value: value})
			}
			out[i].pairs = append(out[i].pairs, s.pairOf(r, o))
		}
	}
	return out
}

// variant is the value of one key of a result's variant, "" when it has none.
func variant(r v1alpha1.BenchmarkResult, key string) string {
	for part := range strings.SplitSeq(r.Variant, ",") {
		if name, value, _ := strings.Cut(part, "="); name == key {
			return value
		}
	}
	return ""
}

func without(r v1alpha1.BenchmarkResult, key string) string {
	parts := strings.Split(r.Variant, ",")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, key+"=") }), ",")
}

// faster describes a choice what proves it.
func (s subject) faster(c choice, gain float64, usual string) string {
	for _, p := range c.pairs {
		if _, proved := s.gain(p); proved > 0 {
			return fmt.Sprintf("%s is faster than %s by %.1f %% at least, as in %s: %s %s instead of %s (medians of %d rounds).",
				c.value, usual, 100*gain, title(p.usual),
				metric(p.other), p.usual.Metric, metric(p.usual), p.ratios.N())
		}
	}
	return ""
}

func title(r v1alpha1.BenchmarkResult) string { return strings.TrimSpace(r.Workload + " " + r.Variant) }
