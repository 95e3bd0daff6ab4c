// Package advice reads a TLS policy out of a benchmark's results. It is pure, and cautious: what the results do not
// prove stays at the default, and no cost makes it advise against encryption or for an older version of TLS.
package advice

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// Line is one setting of a cluster's spec and the reason for it.
type Line struct {
	// Path of the setting below spec, for instance tls.cipher.
	Path  string
	Value any
	// Why is one sentence; it reports when nothing was measured.
	Why string
}

// subject is a benchmark as it is judged.
type subject struct {
	// results that have runs, by arm.
	results []v1alpha1.BenchmarkResult
	// arms with the CPU's AES instructions; others describe other CPUs.
	arms    []arm
	env     *v1alpha1.BenchmarkEnvironment
	records []result.Record
	// comparisons is how many pairs are compared in all: the more there are, the more each has to prove.
	comparisons int
}

// arm is a policy with nothing left to defaults.
type arm struct {
	name string
	tls  v1alpha1.TLSSpec
}

const (
	aes128   = "TLS_AES_128_GCM_SHA256"
	chacha20 = "TLS_CHACHA20_POLY1305_SHA256"
	// usualKey is the default of the API.
	usualKey = "ECDSA 256"
)

// For returns the settings that a benchmark's results, and the records of its runs, prove to be better than the
// defaults, and the defaults of the others. It is an error when no run counts.
func For(b *v1alpha1.GaleraBenchmark, records []result.Record) ([]Line, error) {
	s := subject{env: b.Status.Environment, records: records}
	var own v1alpha1.TLSSpec
	if t := b.Spec.Cluster.Template; t != nil {
		own = t.TLS
	}
	for _, a := range b.Spec.Arms {
		if a.CPUAcceleration != v1alpha1.AccelerationOff {
			s.arms = append(s.arms, arm{a.Name, experiment.Normal(own.With(a.TLS))})
		}
	}
	for _, r := range b.Status.Results {
		if r.Samples > 0 && !strings.Contains(r.Variant, "cpuAcceleration=Off") {
			s.results = append(s.results, r)
		}
	}
	if len(s.results) == 0 {
		return nil, errors.New("no run of this benchmark counts yet: there is nothing to advise from")
	}
	ciphers, keys := s.ciphers(), s.keys()
	for _, c := range slices.Concat(ciphers, keys) {
		s.comparisons += len(c.pairs)
	}
	var lines []Line
	for _, channel := range []string{"replication", "stateTransfer", "clients"} {
		lines = append(lines, Line{"tls." + channel, v1alpha1.TLSRequired,
			"Whatever it costs: the report has what was measured."})
	}
	lines = append(lines, s.cipherLine(ciphers))
	return append(lines, s.keyLines(keys)...), nil
}

// Write writes the advice for a benchmark: words first, then the same as a part of a cluster's spec.
func Write(w io.Writer, b *v1alpha1.GaleraBenchmark, lines []Line) error {
	var text strings.Builder
	fmt.Fprintf(&text, "By the benchmark %s (%s):\n\n", b.Name, b.Status.Verdict)
	spec, last := map[string]any{}, ""
	for _, l := range lines {
		if err := unstructured.SetNestedField(spec, l.Value, strings.Split("spec."+l.Path, ".")...); err != nil {
			return err
		}
		if l.Path != "tls.certificate.privateKey.size" || l.Why != last { // the reason of its algorithm
			fmt.Fprintf(&text, "* %s: %v. %s\n", l.Path, l.Value, l.Why)
		}
		last = l.Why
	}
	yamlText, err := yaml.Marshal(spec)
	if err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nAnother value than the default is advised only if it is proved round by round, with 95 %% "+
		"confidence for all comparisons\ntogether.\n\n%s", yamlText)
	_, err = io.WriteString(w, text.String())
	return err
}

// usualCipher is what Auto leads to on these hosts. x86 CPUs without AES instructions are recognised; those of ARM have
// them as a rule.
func (s subject) usualCipher() string {
	if s.env != nil && slices.ContainsFunc(s.env.Hosts, func(h v1alpha1.BenchmarkHost) bool {
		return slices.Contains(h.CPUFlags, "avx2") && !slices.Contains(h.CPUFlags, "aes")
	}) {
		return chacha20
	}
	return aes128
}

func (s subject) ciphers() []choice {
	usual := s.usualCipher()
	return s.betweenArms(usual, func(t v1alpha1.TLSSpec) string {
		if t.Cipher == "Auto" {
			return usual
		}
		return t.Cipher
	}, func(t v1alpha1.TLSSpec) v1alpha1.TLSSpec { t.Cipher = "Auto"; return t })
}

func (s subject) cipherLine(choices []choice) Line {
	usual := s.usualCipher()
	if len(choices) == 0 {
		return Line{"tls.cipher", "Auto", "The default, which is " + usual + " on these hosts; no other cipher was measured."}
	}
	if best, ok := s.pick(choices); ok {
		return Line{"tls.cipher", best.value, best.faster(usual)}
	}
	return Line{"tls.cipher", "Auto", "No cipher was proved to be faster than " + usual +
		", which Auto chooses on these hosts."}
}

func (s subject) keys() []choice {
	return s.betweenArms(usualKey, func(t v1alpha1.TLSSpec) string {
		algorithm, size := experiment.Key(t)
		return fmt.Sprintf("%s %d", algorithm, size)
	}, func(t v1alpha1.TLSSpec) v1alpha1.TLSSpec {
		t.Certificate.PrivateKey = v1alpha1.PrivateKeySpec{}
		return t
	})
}

func (s subject) keyLines(choices []choice) []Line {
	algorithm, size, why := "ECDSA", int64(256), "The default; no other key was measured."
	if len(choices) > 0 {
		why = "No key was proved to be faster than " + usualKey + "."
	}
	if best, ok := s.pick(choices); ok {
		why = best.faster(usualKey)
		if _, err := fmt.Sscanf(best.value, "%s %d", &algorithm, &size); err != nil {
			why = err.Error() // keys has written it
		}
	}
	return []Line{{"tls.certificate.privateKey.algorithm", algorithm, why},
		{"tls.certificate.privateKey.size", size, why}}
}
