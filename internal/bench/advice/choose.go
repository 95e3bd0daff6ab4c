package advice

import (
	"fmt"
	"math"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// choice is one of several values of a setting, and where its results are found: pairs of a choice and the usual value,
// in the same workload.
type choice struct {
	value string
	pairs []pair
}

// pair is a choice alongside the usual value, with the ratios of their figures in the rounds that have both.
type pair struct {
	usual, other v1alpha1.BenchmarkResult
	ratios       summary.Paired
}

// proof is a choice that is proved to be better than the usual value, with the pair that proves the least gain.
type proof struct {
	value string
	pair  pair
	gain  float64
}

// pick returns the choice that is proved to be better than the usual value in some pair, and worse in none; of several
// the one with the greatest gain. The intervals hold together for all comparisons of the advice, and gain is the end of
// one: the least that is proved. ok is false when there is none.
func (s subject) pick(choices []choice) (best proof, ok bool) {
	for _, c := range choices {
		least, refuted := proof{value: c.value, gain: math.Inf(1)}, false
		for _, p := range c.pairs {
			switch g, proved := s.gain(p); {
			case proved > 0 && g < least.gain:
				least.pair, least.gain = p, g
			case proved < 0:
				refuted = true
			}
		}
		if !refuted && !math.IsInf(least.gain, 1) && (!ok || least.gain > best.gain) {
			best, ok = least, true
		}
	}
	return best, ok
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
					if r.Arm == a.name && o.Arm == other.name && summary.Title(r) == summary.Title(o) {
						c.pairs = append(c.pairs, pair{r, o, summary.Ratios(s.records, r, o)})
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

// faster describes a choice by what proves it.
func (p proof) faster(usual string) string {
	name := p.pair.usual.Metric
	return fmt.Sprintf("%s is faster than %s by %.1f %% at least, as in %s: %s %s instead of %s (medians of %d rounds).",
		p.value, usual, 100*p.gain, summary.Title(p.pair.usual), summary.FigureOf(p.pair.other, name).Median, name,
		summary.FigureOf(p.pair.usual, name).Median, p.pair.ratios.N())
}
