package advice

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

func samePolicy(a, b v1alpha1.TLSSpec) bool { return plan.SamePolicy(a, b) }

const (
	auto     = "Auto"
	aes128   = "TLS_AES_128_GCM_SHA256"
	chacha20 = "TLS_CHACHA20_POLY1305_SHA256"
	// aesFlag is that of an x86 CPU with AES instructions; those of ARM are not distinguished, and have them as a rule.
	aesFlag = "aes"
)

// version stays at 1.3: it is not for sale.
func (s subject) version() Line {
	l := Line{Path: "tls.minVersion", Value: "1.3", Why: "the default; lower it only for clients that cannot speak it"}
	choices := s.choices[ofVersion]
	if len(choices) == 0 {
		return l
	}
	l.Measured = true
	if _, gain, ok := s.pick(choices); ok {
		l.Why = fmt.Sprintf(
			"TLS 1.2 connects faster by %.1f %% at least here; that is no reason to allow it: keep connections open instead",
			100*gain)
		return l
	}
	l.Why = "TLS 1.2 was measured, too, and not proved to be faster"
	return l
}

// usualCipher is what Auto leads to on these hosts.
func (s subject) usualCipher() string {
	if s.env == nil {
		return aes128
	}
	for _, h := range s.env.Hosts {
		if x86 := slices.Contains(h.CPUFlags, "avx2"); x86 && !slices.Contains(h.CPUFlags, aesFlag) {
			return chacha20
		}
	}
	return aes128
}

func (s subject) cipher() Line {
	usual := s.usualCipher()
	l := Line{Path: "tls.cipher", Value: auto, Why: "the default, which is " + usual +
		" on these hosts; no other cipher was measured"}
	choices := s.choices[ofCipher]
	if len(choices) == 0 {
		return l
	}
	l.Measured = true
	if c, gain, ok := s.pick(choices); ok {
		l.Value, l.Why = c.value, s.faster(c, gain, usual)
		return l
	}
	l.Why = "no cipher was proved to be faster than " + usual + ", which Auto chooses on these hosts"
	return l
}

func (s subject) ciphers() []choice {
	usual := s.usualCipher()
	value := func(t v1alpha1.TLSSpec) string {
		if t.Cipher == auto {
			return usual
		}
		return t.Cipher
	}
	choices := s.betweenVariants("cipher", usual)
	for i := range s.arms {
		if a := &s.arms[i]; encrypts(a.tls) && value(a.tls) == usual {
			choices = append(choices, s.betweenArms(a, value,
				func(t v1alpha1.TLSSpec) v1alpha1.TLSSpec { t.Cipher = auto; return t })...)
		}
	}
	return slices.DeleteFunc(choices, s.onlyCPU)
}

// onlyCPU reports whether a choice was measured by workloads of the kind cipher alone: they show the CPU and no
// cluster.
func (s subject) onlyCPU(c choice) bool {
	return !slices.ContainsFunc(c.pairs, func(p pair) bool {
		w := s.workload(p.usual.Workload)
		return w == nil || w.Cipher == nil
	})
}

func encrypts(t v1alpha1.TLSSpec) bool {
	return slices.ContainsFunc(channels, func(c channel) bool { return c.of(t) != v1alpha1.TLSDisabled })
}

func key(t v1alpha1.TLSSpec) string {
	algorithm, size := plan.Key(t)
	return fmt.Sprintf("%s %d", algorithm, size)
}

// usualKey is the default of the API.
const usualKey = "ECDSA 256"

func (s subject) key() []Line {
	algorithm, size := "ECDSA", int64(256)
	why, measured := "the default; no other key was measured", false
	if choices := s.choices[ofKey]; len(choices) > 0 {
		why, measured = "no key was proved to be faster than "+usualKey, true
		if c, gain, ok := s.pick(choices); ok {
			why = s.faster(c, gain, usualKey)
			if _, err := fmt.Sscanf(c.value, "%s %d", &algorithm, &size); err != nil {
				why = err.Error() // key has written it
			}
		}
	}
	return []Line{
		{Path: "tls.certificate.privateKey.algorithm", Value: algorithm, Why: why, Measured: measured},
		{Path: "tls.certificate.privateKey.size", Value: size, Why: why, Measured: measured},
	}
}

func (s subject) keys() (out []choice) {
	for i := range s.arms {
		if a := &s.arms[i]; encrypts(a.tls) && key(a.tls) == usualKey {
			out = append(out, s.betweenArms(a, key, func(t v1alpha1.TLSSpec) v1alpha1.TLSSpec {
				t.Certificate.PrivateKey = v1alpha1.PrivateKeySpec{}
				return t
			})...)
		}
	}
	return out
}

// usualMethod of full copies: rsync blocks its donor.
const usualMethod = "MariaBackup"

// transfer advises on full copies where their methods or threads were measured.
func (s subject) transfer() (out []Line) {
	if choices := s.choices[ofMethod]; len(choices) > 0 {
		l := Line{Path: "stateTransfer.method", Value: usualMethod, Measured: true,
			Why: "Rsync was not proved to be faster, and blocks its donor"}
		if c, gain, ok := s.pick(choices); ok {
			l.Why = s.faster(c, gain, usualMethod) +
				"; but it blocks its donor for the whole copy: choose it where a node can be spared"
		}
		out = append(out, l)
	}
	if choices := s.choices[ofParallel]; len(choices) > 0 {
		usual := s.ofUsualMethod().values("parallel")[0]
		l := Line{Path: "stateTransfer.parallel", Value: int64(number(usual)), Measured: true,
			Why: "no other number of threads was proved to be faster than " + usual}
		if c, gain, ok := s.pick(choices); ok {
			l.Value, l.Why = int64(number(c.value)), s.faster(c, gain, usual+" thread(s)")
		}
		out = append(out, l)
	}
	return out
}

func (s subject) threads() []choice {
	s = s.ofUsualMethod()
	if values := s.values("parallel"); len(values) > 1 {
		return s.betweenVariants("parallel", values[0])
	}
	return nil
}

// ofUsualMethod leaves out the copies by another method than the one that is advised.
func (s subject) ofUsualMethod() subject {
	s.results = slices.DeleteFunc(slices.Clone(s.results), func(r v1alpha1.BenchmarkResult) bool {
		m := variant(r, "method")
		return m != "" && m != usualMethod
	})
	return s
}

// values of a key of variants, as they come.
func (s subject) values(key string) (out []string) {
	for _, r := range s.results {
		if v := variant(r, key); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// dear is the share of its connections per second above which something better than TLS for each of them is advised.
const dear = 25.0

func (s subject) notes() (out []string) {
	for _, r := range s.results {
		w := s.workload(r.Workload)
		if w == nil || !direct(*w) || r.Significant == nil || !*r.Significant || number(r.OverheadPercent) < dear {
			continue
		}
		out = append(out,
			fmt.Sprintf(
				"connections are expensive (%s, %s: %s %% fewer or slower): keep them open in a pool, or let clients resume "+
					"their TLS sessions", title(r), r.Arm, r.OverheadPercent))
		break
	}
	if c, gain, ok := s.pick(s.choices[ofResumption]); ok {
		out = append(out, fmt.Sprintf("clients that resume TLS sessions (%s) connect %.1f %% faster at least", c.value,
			100*gain))
	}
	for _, r := range s.results {
		if f := slices.IndexFunc(r.Figures,
			func(f v1alpha1.BenchmarkFigure) bool { return f.Name == result.FigureDonorLoadLoss }); f >= 0 &&
			number(r.Figures[f].Median) > dear {
			out = append(out,
				fmt.Sprintf(
					"a donor loses %s %% of its load during a copy (%s, %s): let a node without clients be the donor "+
						"(spec.stateTransfer.donors)", r.Figures[f].Median, title(r), r.Arm))
			break
		}
	}
	if few := s.fewRounds(); few {
		out = append(out, "fewer than six rounds prove little: measure more of them before you depend on this")
	}
	if s.comparisons > 0 {
		out = append(out,
			fmt.Sprintf(
				"another value than the default is advised only if it is proved round by round, with 95 %% confidence for all "+
					"comparisons together (%d)", s.comparisons))
	}
	return out
}

func (s subject) fewRounds() bool {
	return !slices.ContainsFunc(s.results, func(r v1alpha1.BenchmarkResult) bool { return r.Samples >= 6 })
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
