package advice

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// number is what a test has written.
func number(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }

// measured is a result whose interval is a tenth of a percent wide on both sides.
func measured(workload, variant, arm, metric string, value string, low, high string) v1alpha1.BenchmarkResult {
	return v1alpha1.BenchmarkResult{Workload: workload, Variant: variant, Arm: arm, Samples: 6, Metric: metric,
		Figures: []v1alpha1.BenchmarkFigure{{Name: metric, Median: value, Low: low, High: high}}}
}

// recorded are six runs of each result, between the ends of its interval. No two results have them in the same rounds.
func recorded(b *v1alpha1.GaleraBenchmark) (out []result.Record) {
	for i, r := range b.Status.Results {
		f := r.Figures[0]
		m, l, h := number(f.Median), number(f.Low), number(f.High)
		for round, v := range [][]float64{{m, l, h, m, h, l}, {m, h, m, l, l, h}, {h, m, l, l, h, m}}[i%3] {
			if round < int(r.Samples) {
				out = append(out, run(r, round+1, v))
			}
		}
	}
	return out
}

// run is one that found a value of a result's metric.
func run(r v1alpha1.BenchmarkResult, round int, v float64) result.Record {
	o := &result.Output{}
	switch r.Metric {
	case result.FigureTPS:
		o.OLTP = &result.OLTPResult{TPS: v}
	case result.FigureConnectionsPerSecond:
		o.Connect = &result.ConnectResult{Paced: result.Paced{PerSecond: v}}
	case result.FigureSeconds:
		o.Transfer = &result.TransferFacts{Seconds: v}
	case result.FigureMegabytesPerSecond:
		o.Cipher = &result.CipherResult{Speeds: []result.Speed{{Record: 16384, Megabytes: v}}}
	case result.FigureQPS:
		o.Answers = &result.AnswersResult{Paced: result.Paced{PerSecond: v}}
	}
	return result.Record{Run: result.Run{Round: round, Arm: r.Arm, Workload: r.Workload, Variant: r.Variant},
		Verdict: result.Verdict{Valid: true}, Output: o}
}

func benchmark(arms []v1alpha1.BenchmarkArm, workloads []v1alpha1.BenchmarkWorkload,
	results ...v1alpha1.BenchmarkResult) *v1alpha1.GaleraBenchmark {
	b := &v1alpha1.GaleraBenchmark{}
	b.Spec.Cluster.Template = &v1alpha1.GaleraClusterSpec{}
	b.Spec.Arms, b.Spec.Workloads, b.Status.Results = arms, workloads, results
	return b
}

var (
	write   = v1alpha1.BenchmarkWorkload{Name: "write", OLTP: &v1alpha1.OLTPWorkload{}}
	connect = v1alpha1.BenchmarkWorkload{Name: "connect", Connect: &v1alpha1.ConnectWorkload{Via: "Direct"}}
	copies  = v1alpha1.BenchmarkWorkload{Name: "copy", StateTransfer: &v1alpha1.StateTransferWorkload{}}
	cpu     = v1alpha1.BenchmarkWorkload{Name: "cpu", Cipher: &v1alpha1.CipherWorkload{}}
)

func arms(all ...v1alpha1.BenchmarkArm) []v1alpha1.BenchmarkArm { return all }

func with(name string, tls v1alpha1.BenchmarkTLS) v1alpha1.BenchmarkArm {
	return v1alpha1.BenchmarkArm{Name: name, TLS: tls, CPUAcceleration: "On"}
}

func keyed(name, algorithm string, size int32) v1alpha1.BenchmarkArm {
	return with(name, v1alpha1.BenchmarkTLS{PrivateKey: &v1alpha1.PrivateKeySpec{Algorithm: algorithm, Size: size}})
}

func TestFor(t *testing.T) {
	list := func(all ...v1alpha1.BenchmarkWorkload) []v1alpha1.BenchmarkWorkload { return all }
	plain := with("plain", v1alpha1.BenchmarkTLS{Replication: "Disabled"})
	aes128arm, chacha := with("aes-128", v1alpha1.BenchmarkTLS{Cipher: aes128}),
		with("chacha20", v1alpha1.BenchmarkTLS{Cipher: chacha20})
	old := chacha
	old.CPUAcceleration = "Off"
	for name, tc := range map[string]struct {
		b *v1alpha1.GaleraBenchmark
		// want has parts of the text, not what must not be in it.
		want []string
		not  []string
	}{
		"what encryption costs is no reason": {
			benchmark(arms(plain, with("encrypted", v1alpha1.BenchmarkTLS{})), list(write),
				measured("write", "", "plain", "tps", "1000", "990", "1010"),
				measured("write", "", "encrypted", "tps", "890", "880", "900")),
			[]string{"By the benchmark x (encrypted: -11 % tps):\n\n* tls.replication: Required. " +
				"Whatever it costs: the report has what was measured.\n",
				"* tls.cipher: Auto. The default, which is " + aes128 + " on these hosts; no other cipher was measured.\n",
				"  tls:\n    certificate:\n      privateKey:\n        algorithm: ECDSA\n        size: 256\n    cipher: Auto\n    " +
					"clients: Required\n    replication: Required\n    stateTransfer: Required\n"},
			[]string{"faster", "privateKey.size"},
		},
		"a faster cipher": {
			benchmark(arms(aes128arm, chacha), list(write), measured("write", "", "aes-128", "tps", "1000", "990", "1010"),
				measured("write", "", "chacha20", "tps", "1200", "1180", "1220")),
			[]string{"* tls.cipher: " + chacha20 + ". " + chacha20 + " is faster than " + aes128 +
				" by 17.0 % at least, as in write: 1200 tps instead of 1000 (medians of 6 rounds).", "cipher: " + chacha20 + "\n"},
			nil,
		},
		"what proves the least is named": {
			benchmark(arms(aes128arm, chacha), list(write, copies), measured("copy", "", "aes-128", "seconds", "10", "9.9",
				"10.1"), measured("copy", "", "chacha20", "seconds", "8", "7.9", "8.1"),
				measured("write", "", "aes-128", "tps", "1000", "990", "1010"), measured("write", "", "chacha20", "tps", "2000",
					"1990", "2010")),
			[]string{"as in copy: 8 seconds instead of 10 (medians of 6 rounds)"}, []string{"as in write"},
		},
		"a cipher that may be faster": {
			benchmark(arms(aes128arm, chacha), list(write), measured("write", "", "aes-128", "tps", "1000", "900", "1100"),
				measured("write", "", "chacha20", "tps", "1200", "1050", "1300")),
			[]string{"* tls.cipher: Auto. No cipher was proved"}, nil,
		},
		"a cipher that is faster here and slower there": {
			benchmark(arms(aes128arm, chacha), list(write, copies), measured("write", "", "aes-128", "tps", "1000", "990",
				"1010"), measured("write", "", "chacha20", "tps", "1200", "1180", "1220"),
				measured("copy", "", "aes-128", "seconds", "10", "9.9", "10.1"), measured("copy", "", "chacha20", "seconds", "12",
					"11.9", "12.1")),
			[]string{"* tls.cipher: Auto. No cipher was proved"}, nil,
		},
		"a cipher on CPUs that are not here": {
			benchmark(arms(aes128arm, old), list(write), measured("write", "", "aes-128", "tps", "1000", "990", "1010"),
				measured("write", "", "chacha20", "tps", "1200", "1180", "1220")),
			[]string{"no other cipher was measured"}, []string{"faster"},
		},
		"a CPU is no cluster": {
			benchmark(arms(plain), list(cpu), measured("cpu", "cipher="+aes128, "plain", "megabytesPerSecond", "1000", "990",
				"1010"), measured("cpu", "cipher="+chacha20, "plain", "megabytesPerSecond", "2000", "1990", "2010")),
			[]string{"no other cipher was measured"}, []string{"faster"},
		},
		"one round proves nothing": {
			func() *v1alpha1.GaleraBenchmark {
				b := benchmark(arms(aes128arm, chacha), list(write), measured("write", "", "aes-128", "tps", "1000", "1000",
					"1000"), measured("write", "", "chacha20", "tps", "1200", "1200", "1200"))
				b.Status.Results[0].Samples, b.Status.Results[1].Samples = 1, 1
				return b
			}(),
			[]string{"* tls.cipher: Auto. No cipher was proved"}, nil,
		},
		"a slower key": {
			benchmark(arms(keyed("ecdsa", "ECDSA", 256), keyed("rsa", "RSA", 4096)), list(connect),
				measured("connect", "", "ecdsa", "connectionsPerSecond", "343", "340", "350"),
				measured("connect", "", "rsa", "connectionsPerSecond", "183", "180", "190")),
			[]string{"algorithm: ECDSA. No key was proved to be faster than ECDSA 256."}, nil,
		},
		"a faster key": {
			benchmark(arms(keyed("ecdsa", "ECDSA", 256), keyed("rsa", "RSA", 2048)), list(connect),
				measured("connect", "", "ecdsa", "connectionsPerSecond", "300", "290", "310"),
				measured("connect", "", "rsa", "connectionsPerSecond", "600", "590", "610")),
			[]string{"RSA 2048 is faster than ECDSA 256 by 90.8 % at least, as in connect: 600 connectionsPerSecond instead " +
				"of 300 (medians of 6 rounds)", "algorithm: RSA\n        size: 2048\n"}, nil,
		},
	} {
		tc.b.Name, tc.b.Status.Verdict = "x", "encrypted: -11 % tps"
		lines, err := For(tc.b, recorded(tc.b))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var out strings.Builder
		if err := Write(&out, tc.b, lines); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out.String())
			}
		}
		for _, not := range tc.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%s: %q is in\n%s", name, not, out.String())
			}
		}
	}
}

// identical is a benchmark of full copies by four ciphers, of which none makes a difference.
func identical(r *rand.Rand, rounds int, noise func(*rand.Rand) float64) (*v1alpha1.GaleraBenchmark, []result.Record) {
	b := benchmark(arms(with("plain", v1alpha1.BenchmarkTLS{StateTransfer: "Disabled", Replication: "Disabled"}),
		with("aes-128", v1alpha1.BenchmarkTLS{Cipher: aes128}),
		with("aes-256", v1alpha1.BenchmarkTLS{Cipher: "TLS_AES_256_GCM_SHA384"}),
		with("chacha20", v1alpha1.BenchmarkTLS{Cipher: chacha20})), []v1alpha1.BenchmarkWorkload{copies})
	var records []result.Record
	for _, arm := range b.Spec.Arms {
		for _, variant := range []string{"method=MariaBackup,parallel=1", "method=MariaBackup,parallel=4",
			"method=Rsync,parallel=4"} {
			of := measured("copy", variant, arm.Name, "seconds", "10", "10", "10")
			of.Samples = int32(rounds)
			b.Status.Results = append(b.Status.Results, of)
			for round := range rounds {
				records = append(records, run(of, round+1, 10*math.Exp(0.05*noise(r))))
			}
		}
	}
	return b, records
}

// TestNothingIsAdvisedFromNoise: where no choice makes a difference, one is advised in at most one of twenty
// benchmarks.
func TestNothingIsAdvisedFromNoise(t *testing.T) {
	const cases = 600
	for name, noise := range map[string]func(*rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return r.NormFloat64() },
		"skewed": func(r *rand.Rand) float64 { return r.ExpFloat64() },
	} {
		for _, rounds := range []int{2, 3, 6} {
			r, advised := rand.New(rand.NewPCG(3, uint64(rounds))), 0
			for range cases {
				b, records := identical(r, rounds, noise)
				lines, err := For(b, records)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range lines {
					if strings.Contains(l.Why, "is faster than") {
						advised++
						break
					}
				}
			}
			if advised > cases/20 {
				t.Errorf("%s noise, %d rounds: something is advised in %.1f %% of the benchmarks", name, rounds,
					100*float64(advised)/cases)
			}
		}
	}
}

// TestADifferenceIsAdvised: what is a third faster is found in six rounds.
func TestADifferenceIsAdvised(t *testing.T) {
	r, found := rand.New(rand.NewPCG(4, 4)), 0
	for range 100 {
		b, records := identical(r, 6, func(r *rand.Rand) float64 { return r.NormFloat64() })
		for i := range records {
			if records[i].Arm == "chacha20" {
				records[i].Output.Transfer.Seconds /= 1.5
			}
		}
		if lines, err := For(b, records); err == nil && slices.ContainsFunc(lines,
			func(l Line) bool { return l.Value == chacha20 }) {
			found++
		}
	}
	if found < 95 {
		t.Errorf("found in %d of 100 benchmarks", found)
	}
}

// TestUsualCipher: a host without AES instructions makes ChaCha20 what Auto chooses.
func TestUsualCipher(t *testing.T) {
	for want, flags := range map[string][]string{aes128: {"aes", "avx2"}, chacha20: {"avx2"}} {
		s := subject{env: &v1alpha1.BenchmarkEnvironment{Hosts: []v1alpha1.BenchmarkHost{{CPUFlags: []string{"aes", "avx2"}},
			{CPUFlags: flags}, {}}}}
		if got := s.usualCipher(); got != want {
			t.Errorf("%v: %s", flags, got)
		}
	}
}

func TestNothingToAdviseFrom(t *testing.T) {
	if _, err := For(benchmark(arms(with("a", v1alpha1.BenchmarkTLS{})), nil), nil); err == nil ||
		!strings.Contains(err.Error(), "no run of this benchmark counts yet") {
		t.Errorf("got %v", err)
	}
}
