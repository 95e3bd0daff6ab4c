package report

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// sample is a benchmark of two arms and two workloads in three rounds.
func sample() Benchmark {
	b := Benchmark{Resource: &v1alpha1.GaleraBenchmark{}}
	b.Resource.Name = "sample"
	s := &b.Resource.Spec
	s.Cluster.Template = &v1alpha1.GaleraClusterSpec{}
	s.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Replication: "Disabled"}},
		{Name: "encrypted", TLS: v1alpha1.BenchmarkTLS{Replication: "Required"}}}
	s.Rounds = 3
	for _, w := range []string{"write-only", "read-only"} {
		s.Workloads = append(s.Workloads, v1alpha1.BenchmarkWorkload{Name: w,
			OLTP: &v1alpha1.OLTPWorkload{Threads: []int32{8}}})
		for round := 1; round <= 3; round++ {
			for i, arm := range []string{"plain", "encrypted"} {
				tps := 1000 + 20*float64(round) - 60*float64(i)
				o := &result.OLTPResult{TPS: tps, QPS: 6 * tps, Transactions: 15000, Seconds: 15, LatencyAvg: 7, P50: 6,
					P95: 14 + float64(i), P99: 22 + 2*float64(i), LatencyMax: 80}
				for second := 1; second <= 15; second++ {
					o.Series = append(o.Series, result.Point{Second: float64(second), TPS: tps + 30*float64(second%4)})
				}
				b.Records = append(b.Records, result.Record{Run: result.Run{Index: len(b.Records) + 1, Attempt: 1, Round: round,
					Arm: arm, Workload: w, Kind: result.KindOLTP},
					Verdict: result.Verdict{Valid: true}, Output: &result.Output{OLTP: o, StartedAt: time.Unix(100, 0),
						EndedAt: time.Unix(115, 0),
						Client:  result.Usage{CPUSeconds: 4}, Runner: result.Usage{CPUSeconds: 0.06}}})
			}
		}
	}
	st := &b.Resource.Status
	st.Results, st.Comparisons = summary.Results(s, b.Records)
	st.Verdict, st.Progress = summary.Verdict(st.Results, st.Comparisons), "12/12"
	st.ArmNames = []string{"plain", "encrypted"}
	st.Environment = &v1alpha1.BenchmarkEnvironment{MariaDB: "11.8.6-MariaDB", Galera: "26.4.25", OpenSSL: "OpenSSL 3.5",
		Hosts: []v1alpha1.BenchmarkHost{{Name: "w1", Kernel: "6.1", CPU: "Some CPU", CPUs: 2}}}
	st.StartedAt, st.CompletedAt = &metav1.Time{Time: time.Unix(0, 0)}, &metav1.Time{Time: time.Unix(360, 0)}
	st.InvalidRuns = []v1alpha1.InvalidRun{{Index: 3, Attempt: 1, Arm: "plain", Reason: "a <node> left"}}
	return b
}

// TestConnectionsOverTime: they have a chart of their own, and it describes what it counts.
func TestConnectionsOverTime(t *testing.T) {
	b := sample()
	for i := range b.Records {
		b.Records[i].Output = &result.Output{Connect: &result.ConnectResult{
			Paced: result.Paced{Series: b.Records[i].Output.OLTP.Series}}}
	}
	plots, err := charts(b)
	if err != nil || len(plots) != 2 || plots[0].Y.Label.Text != "connections per second" {
		t.Errorf("%d charts, %v", len(plots), err)
	}
	if plots, err = charts(sample()); err != nil || len(plots) != 2 ||
		plots[0].Y.Label.Text != "transactions per second" {
		t.Errorf("%d charts, %v", len(plots), err)
	}
}

// TestNothingYet: a benchmark without results has a report, too.
func TestNothingYet(t *testing.T) {
	b := sample()
	b.Records, b.Resource.Status = nil, v1alpha1.GaleraBenchmarkStatus{}
	for _, format := range []string{"table", "md", "json", "csv", "svg"} {
		if err := Write(&bytes.Buffer{}, format, b); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestOnlyTheBaselineIsCalledSo: in the first round another arm may be measured before it, and one may have no run that
// counts.
func TestOnlyTheBaselineIsCalledSo(t *testing.T) {
	b := sample()
	plain, encrypted := b.Records[0], b.Records[1]
	disturbed := encrypted
	disturbed.Valid = false
	for name, tc := range map[string]struct {
		records []result.Record
		want    [][]string
	}{
		"the other arm first": {[]result.Record{encrypted}, [][]string{{"encrypted", "1", "-"}}},
		"the baseline first":  {[]result.Record{plain}, [][]string{{"plain", "1", "baseline"}}},
		"one that never counts": {[]result.Record{plain, disturbed},
			[][]string{{"plain", "1", "baseline"}, {"encrypted", "0", "-"}}},
	} {
		b.Resource.Status.Results, _ = summary.Results(&b.Resource.Spec, tc.records)
		var got [][]string
		for _, row := range grid(b)[1:] {
			got = append(got, row[1:4])
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
