package advice

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// choice is one of several values of a setting, and where its results are found: pairs of a choice and the usual value, in the same
// workload.
type choice struct {
	value string
	pairs []pair
}

type pair struct{ usual, other v1alpha1.BenchmarkResult }

// pick returns the choice that is proved to be better than the usual value in some pair, and worse in none, by intervals that do not
// overlap; of several the one with the greatest gain, which is the least that was proved. ok is false when there is none.
func pick(choices []choice) (best choice, gain float64, ok bool) {
	for _, c := range choices {
		least, refuted := math.Inf(1), false
		for _, p := range c.pairs {
			switch g, proved := compare(p); {
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

// compare says by how much another value is better than the usual one, as a share, and whether the intervals prove it: 1 better, -1 worse,
// 0 neither.
func compare(p pair) (gain float64, proved int) {
	u, o := metric(p.usual), metric(p.other)
	if u == nil || o == nil || number(u.Median) <= 0 || number(o.Median) <= 0 || p.usual.Samples < 2 || p.other.Samples < 2 {
		return 0, 0
	}
	above, below := number(o.Low) > number(u.High), number(o.High) < number(u.Low)
	gain = number(o.Median)/number(u.Median) - 1
	if result.LowerIsBetter(p.usual.Metric) {
		above, below, gain = below, above, number(u.Median)/number(o.Median)-1
	}
	switch {
	case above:
		return gain, 1
	case below:
		return gain, -1
	}
	return gain, 0
}

func metric(r v1alpha1.BenchmarkResult) *v1alpha1.BenchmarkFigure {
	i := slices.IndexFunc(r.Figures, func(f v1alpha1.BenchmarkFigure) bool { return f.Name == r.Metric })
	if i < 0 {
		return nil
	}
	return &r.Figures[i]
}

func number(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v } // the operator wrote it

// betweenArms are choices among arms that differ from the usual one in nothing else. without removes what they may differ in.
func (s subject) betweenArms(usual *arm, value func(v1alpha1.TLSSpec) string, without func(v1alpha1.TLSSpec) v1alpha1.TLSSpec) (out []choice) {
	if usual == nil {
		return nil
	}
	for _, a := range s.arms {
		if value(a.tls) == value(usual.tls) || !samePolicy(without(a.tls), without(usual.tls)) {
			continue
		}
		c := choice{value: value(a.tls)}
		for _, r := range s.results {
			for _, o := range s.results {
				if r.Arm == usual.name && o.Arm == a.name && title(r) == title(o) {
					c.pairs = append(c.pairs, pair{r, o})
				}
			}
		}
		if len(c.pairs) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// betweenVariants are choices among variants of one workload and arm: key=usual against key=VALUE, everything else the same.
func (s subject) betweenVariants(key, usual string) []choice {
	by := map[string]*choice{}
	var order []string
	for _, r := range s.results {
		if variant(r, key) != usual {
			continue
		}
		for _, o := range s.results {
			value := variant(o, key)
			if value == "" || value == usual || o.Arm != r.Arm || o.Workload != r.Workload || without(o, key) != without(r, key) {
				continue
			}
			if by[value] == nil {
				by[value] = &choice{value: value}
				order = append(order, value)
			}
			by[value].pairs = append(by[value].pairs, pair{r, o})
		}
	}
	var out []choice
	for _, value := range order {
		out = append(out, *by[value])
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

// faster says of a choice what proves it.
func faster(c choice, gain float64, usual string) string {
	for _, p := range c.pairs {
		if _, proved := compare(p); proved > 0 {
			return fmt.Sprintf("%s is faster than %s by %.0f %% at least, as in %s: %s %s instead of %s", c.value, usual, 100*gain, title(p.usual),
				metric(p.other).Median, p.usual.Metric, metric(p.usual).Median)
		}
	}
	return ""
}
