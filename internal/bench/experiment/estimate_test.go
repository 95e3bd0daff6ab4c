package experiment

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestEstimate: what was measured took as long as is estimated by its spec, or up to a third less.
func TestEstimate(t *testing.T) {
	files, err := filepath.Glob("../../../docs/experiments/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := gzip.NewReader(raw)
		if err != nil {
			t.Fatal(err)
		}
		b := v1alpha1.GaleraBenchmark{}
		if err := json.NewDecoder(text).Decode(&b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		_ = raw.Close()
		took, estimate := b.Status.CompletedAt.Sub(b.Status.StartedAt.Time), Estimate(&b.Spec)
		if estimate < took || estimate > took*4/3 {
			t.Errorf("%s took %s, and the estimate is %s", filepath.Base(file), took, estimate)
		}
	}
}

// TestEstimateOfWhatAnArmCosts: a connection takes longer with TLS, with a large key, and on its way through another
// program, but not through one that keeps its connections to the database.
func TestEstimateOfWhatAnArmCosts(t *testing.T) {
	of := func(via string, latency time.Duration, tls v1alpha1.TLSSpec) time.Duration {
		return window(Cell{Kind: "connect", Latency: latency, Threads: 2, Workload: &v1alpha1.BenchmarkWorkload{
			Connect: &v1alpha1.ConnectWorkload{Connections: 10000, Via: via}}}, tls)
	}
	rsa := func(size int32) v1alpha1.TLSSpec {
		return v1alpha1.TLSSpec{Certificate: v1alpha1.CertificateSpec{
			PrivateKey: v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: size}}}
	}
	plain := v1alpha1.TLSSpec{Clients: v1alpha1.TLSDisabled}
	for i, tc := range []struct{ got, want time.Duration }{
		{of(v1alpha1.ViaDirect, 0, plain), 11 * time.Second},
		{of(v1alpha1.ViaDirect, 0, rsa(2048)), 27 * time.Second},
		{of(v1alpha1.ViaDirect, 0, rsa(4096)), 52 * time.Second},
		{of(v1alpha1.ViaWireGuard, 0, plain), 17600 * time.Millisecond},
		{of(v1alpha1.ViaGaleraProxy, 0, rsa(2048)), 43200 * time.Millisecond},
		{of(v1alpha1.ViaPoolingProxy, 0, rsa(2048)), 5 * time.Second},
		{of(v1alpha1.ViaDirect, 10*time.Millisecond, plain), 255500 * time.Millisecond},
	} {
		if tc.got != tc.want {
			t.Errorf("case %d: %s, want %s", i, tc.got, tc.want)
		}
	}
}

// TestEstimateOfRestarts: CPUs without AES instructions are another restart of all nodes, and one arm needs no switch.
func TestEstimateOfRestarts(t *testing.T) {
	s := &v1alpha1.GaleraBenchmarkSpec{Arms: []v1alpha1.BenchmarkArm{{Name: "a"}}, Rounds: 2,
		Cluster: v1alpha1.BenchmarkCluster{Template: &v1alpha1.GaleraClusterSpec{Replicas: 3}},
		Workloads: []v1alpha1.BenchmarkWorkload{{Name: "sst", StateTransfer: &v1alpha1.StateTransferWorkload{
			Methods: []string{"Rsync"}, Parallel: []int32{1}, CPUAcceleration: []string{"On"}}}}}
	one := Estimate(s)
	run := jobTime + BaseSeconds*time.Second + copyTime
	all := clusterTime + 3*nodeTime + jobTime + 2*run
	if want := all.Round(time.Second); one != want {
		t.Errorf("one arm: %s, want %s", one, want)
	}
	s.Workloads[0].StateTransfer.CPUAcceleration = []string{"Off"}
	if got := Estimate(s); got != one+3*restartTime {
		t.Errorf("without AES instructions: %s, with them %s", got, one)
	}
	s.Arms = append(s.Arms, v1alpha1.BenchmarkArm{Name: "b"})
	s.Workloads[0].StateTransfer.CPUAcceleration = []string{"On"}
	if got, want := Estimate(s), (all + 2*run + 4*(changeTime+3*restartTime)).Round(time.Second); got != want {
		t.Errorf("two arms: %s, want %s", got, want)
	}
}
