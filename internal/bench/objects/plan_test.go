package objects

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
)

// TestDeadlines: what has an end of its own gets little more; what has none has a day, and no run is cut off by that.
func TestDeadlines(t *testing.T) {
	const day = 24 * time.Hour
	minute := &metav1.Duration{Duration: time.Minute}
	for name, tc := range map[string]struct {
		w    v1alpha1.BenchmarkWorkload
		want time.Duration
	}{
		"a minute of transactions": {v1alpha1.BenchmarkWorkload{OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1},
			Duration: minute, Warmup: minute}}, 12 * time.Minute},
		"events": {v1alpha1.BenchmarkWorkload{OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1},
			Events: 1e9}}, day},
		"a minute of connections": {v1alpha1.BenchmarkWorkload{Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1},
			Duration:    minute,
			TLSVersions: []string{"1.3"}, SessionResumption: []string{"Off"}, Latency: []string{"0s"}}}, 11 * time.Minute},
		"connections": {v1alpha1.BenchmarkWorkload{Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1}, Connections: 1e7,
			TLSVersions: []string{"1.3"}, SessionResumption: []string{"Off"}, Latency: []string{"170ms"}}}, day},
		"a minute of answers": {v1alpha1.BenchmarkWorkload{ResultSize: &v1alpha1.ResultSizeWorkload{Sizes: []int32{1},
			Threads: []int32{1}, Duration: minute}}, 11 * time.Minute},
		"transactions by default": {v1alpha1.BenchmarkWorkload{OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1}}},
			11*time.Minute + 5*time.Second},
		"connections by default": {v1alpha1.BenchmarkWorkload{Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1}}},
			10*time.Minute + 30*time.Second},
		"answers by default": {v1alpha1.BenchmarkWorkload{ResultSize: &v1alpha1.ResultSizeWorkload{Threads: []int32{1}}},
			10*time.Minute + 30*time.Second},
		"a cipher by default": {v1alpha1.BenchmarkWorkload{Cipher: &v1alpha1.CipherWorkload{
			CPUAcceleration: []string{"On"}}}, 10*time.Minute + 6*time.Second},
		"an operation": {v1alpha1.BenchmarkWorkload{Operation: &v1alpha1.OperationWorkload{Operations: []string{"Restart"},
			Threads: 1}}, 25 * time.Minute},
		"a cipher": {v1alpha1.BenchmarkWorkload{Cipher: &v1alpha1.CipherWorkload{Ciphers: []string{"AES-128-CTR"},
			CPUAcceleration: []string{"On"},
			Duration:        &metav1.Duration{Duration: 10 * time.Second}}}, 11 * time.Minute},
		"a transfer": {v1alpha1.BenchmarkWorkload{StateTransfer: &v1alpha1.StateTransferWorkload{Methods: []string{"Rsync"},
			Parallel: []int32{1}, CPUAcceleration: []string{"On"}}}, day + 10*time.Minute},
	} {
		b := &v1alpha1.GaleraBenchmark{}
		b.Spec.Arms, b.Spec.Workloads, b.Spec.Rounds = []v1alpha1.BenchmarkArm{{Name: "a"}},
			[]v1alpha1.BenchmarkWorkload{tc.w}, 1
		c := &v1alpha1.GaleraCluster{}
		c.Spec.Replicas = 3
		run := experiment.Runs(&b.Spec)[0]
		p := Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run}, "cluster.local")
		if got := time.Duration(deadline(p)) * time.Second; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if p.Transfer != nil && p.Transfer.PatienceSeconds >= int(deadline(p)) {
			t.Error("the runner could not explain why")
		}
	}
}

// TestEachAttemptHasRandomNumbersOfItsOwn: with those of another run, on the same data, updates change nothing.
func TestEachAttemptHasRandomNumbersOfItsOwn(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{}
	b.Spec.Arms, b.Spec.Rounds, b.Spec.Seed = []v1alpha1.BenchmarkArm{{Name: "a"}, {Name: "b"}}, 2, 7
	b.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "w", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1, 16}}},
		{Name: "x", OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{1}}}}
	c := &v1alpha1.GaleraCluster{}
	c.Spec.Replicas = 3
	seeds := map[int64]bool{}
	for _, run := range experiment.Runs(&b.Spec) {
		for attempt := 1; attempt <= 2; attempt++ {
			ask := experiment.StartJob{Wire: run.Wire(attempt), Run: run}
			p := Plan(b, c, ask, "cluster.local")
			if again := Plan(b, c, ask, "cluster.local"); seeds[p.Seed] || p.Seed <= b.Spec.Seed || again.Seed != p.Seed {
				t.Errorf("%s, attempt %d: %d, then %d", run.Name(), attempt, p.Seed, again.Seed)
			}
			seeds[p.Seed] = true
		}
	}
	if len(seeds) != 24 {
		t.Errorf("%d seeds", len(seeds))
	}
}
