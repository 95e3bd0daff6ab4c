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
	// aesFlag is that of an x86 CPU with AES instructions; those of ARM are not told apart, and have them as a rule.
	aesFlag = "aes"
)

// version stays at 1.3: it is not for sale.
func (s subject) version() Line {
	l := Line{Path: "tls.minVersion", Value: "1.3", Why: "the default; lower it only for clients that cannot speak it"}
	choices := s.betweenVariants("tls", "1.3")
	if len(choices) == 0 {
		return l
	}
	l.Measured = true
	if _, gain, ok := pick(choices); ok {
		l.Why = fmt.Sprintf("TLS 1.2 connects faster by %.0f %% here; that is no reason to allow it: keep connections open instead", 100*gain)
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
	value := func(t v1alpha1.TLSSpec) string {
		if t.Cipher == auto {
			return usual
		}
		return t.Cipher
	}
	l := Line{Path: "tls.cipher", Value: auto, Why: "the default, which is " + usual + " on these hosts; no other cipher was measured"}
	choices := s.betweenVariants("cipher", usual)
	for i := range s.arms {
		if a := &s.arms[i]; encrypts(a.tls) && value(a.tls) == usual {
			choices = append(choices, s.betweenArms(a, value, func(t v1alpha1.TLSSpec) v1alpha1.TLSSpec { t.Cipher = auto; return t })...)
		}
	}
	choices = slices.DeleteFunc(choices, s.onlyCPU)
	if len(choices) == 0 {
		return l
	}
	l.Measured = true
	if c, gain, ok := pick(choices); ok {
		l.Value, l.Why = c.value, faster(c, gain, usual)
		return l
	}
	l.Why = "no cipher was proved to be faster than " + usual + ", which Auto chooses on these hosts"
	return l
}

// onlyCPU says that a choice was measured by workloads of the kind cipher alone: they show the CPU and no cluster.
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

func (s subject) key() []Line {
	algorithm, size := "ECDSA", int64(256)
	usual := fmt.Sprintf("%s %d", algorithm, size)
	why, measured := "the default; no other key was measured", false
	var choices []choice
	for i := range s.arms {
		if a := &s.arms[i]; encrypts(a.tls) && key(a.tls) == usual {
			choices = append(choices, s.betweenArms(a, key, func(t v1alpha1.TLSSpec) v1alpha1.TLSSpec {
				t.Certificate.PrivateKey = v1alpha1.PrivateKeySpec{}
				return t
			})...)
		}
	}
	if len(choices) > 0 {
		why, measured = "no key was proved to be faster than "+usual, true
		if c, gain, ok := pick(choices); ok {
			why = faster(c, gain, usual)
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

// transfer advises on full copies where their methods or threads were measured. MariaBackup is the usual one: rsync blocks its donor.
func (s subject) transfer() (out []Line) {
	const method = "MariaBackup"
	if choices := s.betweenVariants("method", method); len(choices) > 0 {
		l := Line{Path: "stateTransfer.method", Value: method, Measured: true, Why: "Rsync was not proved to be faster, and blocks its donor"}
		if c, gain, ok := pick(choices); ok {
			l.Why = faster(c, gain, method) + "; but it blocks its donor for the whole copy: choose it where a node can be spared"
		}
		out = append(out, l)
	}
	s.results = slices.DeleteFunc(slices.Clone(s.results), func(r v1alpha1.BenchmarkResult) bool { // of the method that is advised
		m := variant(r, "method")
		return m != "" && m != method
	})
	if values := s.values("parallel"); len(values) > 1 {
		usual := values[0]
		l := Line{Path: "stateTransfer.parallel", Value: int64(number(usual)), Measured: true, Why: "no other number of threads was proved to be faster than " + usual}
		if c, gain, ok := pick(s.betweenVariants("parallel", usual)); ok {
			l.Value, l.Why = int64(number(c.value)), faster(c, gain, usual+" thread(s)")
		}
		out = append(out, l)
	}
	return out
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
		out = append(out, fmt.Sprintf("connections are dear (%s, %s: %s %% fewer or slower): keep them open in a pool, or let clients resume their TLS sessions", title(r), r.Arm, r.OverheadPercent))
		break
	}
	if c, gain, ok := pick(s.betweenVariants("resumption", "Off")); ok {
		out = append(out, fmt.Sprintf("clients that resume TLS sessions (%s) connect %.0f %% faster at least", c.value, 100*gain))
	}
	for _, r := range s.results {
		if f := slices.IndexFunc(r.Figures, func(f v1alpha1.BenchmarkFigure) bool { return f.Name == result.FigureDonorLoadLoss }); f >= 0 && number(r.Figures[f].Median) > dear {
			out = append(out, fmt.Sprintf("a donor loses %s %% of its load during a copy (%s, %s): let a node without clients be the donor (spec.stateTransfer.donors)", r.Figures[f].Median, title(r), r.Arm))
			break
		}
	}
	if few := s.fewRounds(); few {
		out = append(out, "fewer than five rounds prove little: measure more of them before you depend on this")
	}
	return out
}

func (s subject) fewRounds() bool {
	return !slices.ContainsFunc(s.results, func(r v1alpha1.BenchmarkResult) bool { return r.Samples >= 5 })
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
