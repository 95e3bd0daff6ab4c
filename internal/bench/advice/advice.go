// Package advice reads a TLS policy out of a benchmark's results. It is pure, and cautious: what the results do not
// prove stays at the default, and no cost makes it advise against encryption.
package advice

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// Line is one setting of a cluster's spec and the reason for it.
type Line struct {
	// Path of the setting below spec, for instance tls.cipher.
	Path  string
	Value any
	// Why is one sentence or more; it reports when nothing was measured.
	Why string
	// Measured reports whether results of this benchmark are the reason.
	Measured bool
}

// Advice for one cluster.
type Advice struct {
	Lines []Line
	// Notes are what a person should know alongside the settings.
	Notes []string
}

// subject is a benchmark as it is looked at.
type subject struct {
	spec *v1alpha1.GaleraBenchmarkSpec
	// results that have runs, by arm.
	results []v1alpha1.BenchmarkResult
	// arms with the CPU's AES instructions; others describe other CPUs.
	arms []arm
	env  *v1alpha1.BenchmarkEnvironment

	records []result.Record
	// choices are all that are compared, and comparisons how many pairs these are.
	choices     map[setting][]choice
	comparisons int
}

// setting that has choices.
type setting int

const (
	ofVersion setting = iota
	ofCipher
	ofKey
	ofMethod
	ofParallel
	ofResumption
)

// arm is a policy with nothing left to defaults.
type arm struct {
	name string
	tls  v1alpha1.TLSSpec
}

// For returns the advice that a benchmark's results, and the records of its runs, give. It is an error when no run
// counts.
func For(b *v1alpha1.GaleraBenchmark, records []result.Record) (Advice, error) {
	s := subject{spec: &b.Spec, env: b.Status.Environment, records: records}
	var own v1alpha1.TLSSpec
	if t := b.Spec.Cluster.Template; t != nil {
		own = t.TLS
	}
	for _, a := range b.Spec.Arms {
		if a.CPUAcceleration != v1alpha1.AccelerationOff {
			s.arms = append(s.arms, arm{a.Name, plan.Normal(own.With(a.TLS))})
		}
	}
	for _, r := range b.Status.Results {
		if r.Samples > 0 && !strings.Contains(r.Variant, "cpuAcceleration=Off") {
			s.results = append(s.results, r)
		}
	}
	if len(s.results) == 0 {
		return Advice{}, errors.New("no run of this benchmark counts yet: there is nothing to advise from")
	}
	s.compare()
	out := Advice{Lines: s.channels()}
	out.Lines = append(out.Lines, s.version(), s.cipher())
	out.Lines = append(out.Lines, s.key()...)
	out.Lines = append(out.Lines, s.transfer()...)
	out.Notes = s.notes()
	return out, nil
}

// compare finds all choices before any is judged: the more there are, the more each has to prove.
func (s *subject) compare() {
	s.choices = map[setting][]choice{
		ofVersion: s.betweenVariants("tls", "1.3"), ofCipher: s.ciphers(), ofKey: s.keys(),
		ofMethod:   s.betweenVariants("method", usualMethod),
		ofParallel: s.threads(), ofResumption: s.betweenVariants("resumption", "Off"),
	}
	for _, choices := range s.choices {
		for _, c := range choices {
			s.comparisons += len(c.pairs)
		}
	}
}

// channel of a policy, and how to read it.
type channel struct {
	path, name string
	of         func(v1alpha1.TLSSpec) string
	// kind reports which workloads show its cost.
	shows func(v1alpha1.BenchmarkWorkload) bool
}

var channels = []channel{
	{"tls.replication", "replication", func(t v1alpha1.TLSSpec) string { return string(t.Replication) },
		func(w v1alpha1.BenchmarkWorkload) bool { return w.OLTP != nil }},
	{"tls.stateTransfer", "full copies", func(t v1alpha1.TLSSpec) string { return string(t.StateTransfer) },
		func(w v1alpha1.BenchmarkWorkload) bool { return w.StateTransfer != nil }},
	{"tls.clients", "clients", func(t v1alpha1.TLSSpec) string { return string(t.Clients) },
		func(w v1alpha1.BenchmarkWorkload) bool { return w.OLTP != nil || w.ResultSize != nil || direct(w) }},
}

func direct(w v1alpha1.BenchmarkWorkload) bool {
	return w.Connect != nil && (w.Connect.Via == "" || w.Connect.Via == v1alpha1.ViaDirect)
}

// channels are all to be encrypted; what was measured is the price.
func (s subject) channels() (out []Line) {
	for _, c := range channels {
		l := Line{Path: c.path, Value: v1alpha1.TLSRequired}
		if price := s.price(c); len(price) > 0 {
			l.Measured, l.Why = true, "encrypting "+c.name+" costs, as a part of what is measured: "+strings.Join(price, "; ")
		} else {
			l.Why = "the cost of encrypting " + c.name + " was not measured here"
		}
		out = append(out, l)
	}
	return out
}

// price is what a channel's encryption costs in each workload that shows it: that of the first arm that encrypts it,
// where the baseline does not.
func (s subject) price(c channel) (out []string) {
	base := s.arm(plan.Baseline(s.spec))
	if base == nil || c.of(base.tls) != v1alpha1.TLSDisabled {
		return nil
	}
	i := slices.IndexFunc(s.arms, func(a arm) bool { return c.of(a.tls) != v1alpha1.TLSDisabled && s.alone(c, *base, a) })
	if i < 0 {
		return nil
	}
	for _, r := range s.results {
		if w := s.workload(r.Workload); r.Arm == s.arms[i].name && r.OverheadPercent != "" && w != nil && c.shows(*w) {
			out = append(out, fmt.Sprintf("%s %s", title(r), summary.Cost(r)))
		}
	}
	return out
}

// alone reports whether no other channel is encrypted by an arm that the baseline leaves in clear, except that copies
// may follow replication where the workloads distinguish them.
func (s subject) alone(c channel, base, a arm) bool {
	for _, other := range channels {
		if other.path == c.path || other.of(base.tls) == other.of(a.tls) {
			continue
		}
		if clients := "tls.clients"; c.path == clients || other.path == clients {
			return false
		}
	}
	return true
}

func (s subject) arm(name string) *arm {
	for i := range s.arms {
		if s.arms[i].name == name {
			return &s.arms[i]
		}
	}
	return nil
}

func (s subject) workload(name string) *v1alpha1.BenchmarkWorkload {
	for i := range s.spec.Workloads {
		if s.spec.Workloads[i].Name == name {
			return &s.spec.Workloads[i]
		}
	}
	return nil
}

func title(r v1alpha1.BenchmarkResult) string { return strings.TrimSpace(r.Workload + " " + r.Variant) }
