package galerabenchmark

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// schema is the CRD's schema of one field.
type schema struct {
	Properties          map[string]*schema `json:"properties"`
	Items               *schema            `json:"items"`
	MaxItems, MaxLength *int
}

// statusSchema is that of a benchmark's status, as it is installed.
func statusSchema(t *testing.T) *schema {
	t.Helper()
	text, err := os.ReadFile("../../../config/crd/bases/galera-operator.io_galerabenchmarks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
}

// refuses returns what of a value is larger than the CRD admits, "" for nothing.
func (s *schema) refuses(path string, value any) string {
	switch v := value.(type) {
	case map[string]any:
		for name, of := range s.Properties {
			if why := of.refuses(path+"."+name, v[name]); why != "" {
				return why
			}
		}
	case []any:
		if s.MaxItems != nil && len(v) > *s.MaxItems {
			return fmt.Sprintf("%s has %d items, and may have %d", path, len(v), *s.MaxItems)
		}
		for _, item := range v {
			if why := s.Items.refuses(path+"[]", item); why != "" {
				return why
			}
		}
	case string:
		if n := utf8.RuneCountInString(v); s.MaxLength != nil && n > *s.MaxLength {
			return fmt.Sprintf("%s has %d characters, and may have %d", path, n, *s.MaxLength)
		}
	}
	return ""
}

// long is a name of the greatest length, with a number at its end.
func long(length, n int) string { return strings.Repeat("x", length-2) + fmt.Sprintf("%02d", n) }

// largest are specs whose matrix is as large as may be, 56 combinations, with the longest names.
func largest() map[string]v1alpha1.GaleraBenchmarkSpec {
	s := v1alpha1.GaleraBenchmarkSpec{Rounds: 20, Seed: 1<<63 - 1,
		Cluster: v1alpha1.BenchmarkCluster{Template: &v1alpha1.GaleraClusterSpec{Replicas: 7}}}
	arms := func(n int) (out []v1alpha1.BenchmarkArm) {
		for i := range n {
			out = append(out, v1alpha1.BenchmarkArm{Name: long(32, i)})
		}
		return out
	}
	oltp, connect, transfer := s, s, s
	oltp.Arms = arms(7)
	for i := range 8 {
		oltp.Workloads = append(oltp.Workloads, v1alpha1.BenchmarkWorkload{Name: long(32, i),
			OLTP: &v1alpha1.OLTPWorkload{Profile: "ReadWrite", Tables: 256, TableSize: 1e9 - int64(i), Threads: []int32{1024}}})
	}
	connect.Arms = arms(3)
	connect.Workloads = []v1alpha1.BenchmarkWorkload{{Name: long(32, 0),
		Connect: &v1alpha1.ConnectWorkload{Threads: []int32{1000, 1024}, TLSVersions: []string{"1.2", "1.3"},
			SessionResumption: []string{"Off", "On"}, Latency: []string{"1000.123456789ms", "2000.123456789ms"}}}}
	transfer.Arms = arms(7)
	transfer.Workloads = []v1alpha1.BenchmarkWorkload{{Name: long(32, 0),
		StateTransfer: &v1alpha1.StateTransferWorkload{Tables: 256, TableSize: 1e9, Methods: []string{"MariaBackup", "Rsync"},
			Parallel: []int32{62, 63, 64}, CPUAcceleration: []string{"On", "Off"},
			LoadThreads: 256}}}
	return map[string]v1alpha1.GaleraBenchmarkSpec{"oltp": oltp, "connect": connect, "stateTransfer": transfer}
}

// machine is another one for each n, with a long name for everything.
func machine(n int64) result.Machine {
	return result.Machine{Kernel: long(200, int(n%100)), CPU: long(200, 0), CPUs: 1 << 20, CPUFlags: long(300, 0)}
}

// pods are those of a run, each on a host with a long name, and all elsewhere than in the other rounds.
func pods(round int) (out []result.Pod) {
	images := func(containers ...string) map[string]string {
		all := map[string]string{}
		for _, c := range containers {
			all[c] = long(512, round) + " (" + long(600, round) + ")"
		}
		return all
	}
	for i := range 7 {
		out = append(out, result.Pod{Name: long(39, i), Host: long(253, (round+i)%20), Images: images("mariadb", "agent")})
	}
	return append(out, result.Pod{Name: "job", Host: long(253, round), Images: images("bench", "runner", "proxy")},
		result.Pod{Name: "ssh", Host: long(253, round), Images: images("sshd")})
}

// wordy is an output whose figures take many digits, all of them.
func wordy(kind string, round int) *result.Output {
	v := 0.0012345 + float64(round)*1e-6 // 0.001235: eight characters
	n := int64(1e9) + int64(round)
	points := []result.Point{{Second: 1, TPS: v}}
	o := &result.Output{StartedAt: time.Unix(0, 0), EndedAt: time.Unix(86400, 0), Client: result.Usage{CPUSeconds: 1e4},
		Environment: result.Environment{MariaDB: long(128, 0), Galera: long(128, 0), OpenSSL: long(128, 0),
			Sysbench: long(128, 0), Machine: machine(n), Members: map[string]result.Machine{}}}
	for i := range 7 {
		o.Environment.Members[long(39, i)] = machine(n + int64(i))
	}
	switch kind {
	case result.KindOLTP:
		o.OLTP = &result.OLTPResult{Seconds: v, Transactions: n, TPS: v, QPS: v, LatencyAvg: v, P50: v, P95: v, P99: v,
			LatencyMax: v, Errors: n, Reconnects: n, Series: points}
		o.Proxy = result.Usage{CPUSeconds: 1e4, MemoryBytes: v * (1 << 20)}
	case result.KindConnect:
		o.Connect = &result.ConnectResult{Connections: n, Paced: result.Paced{Seconds: v, PerSecond: v, P50: v, P95: v,
			P99: v, Max: v, Errors: n}, Resumption: result.ResumptionOn, Resumed: n, Pooled: true, Backend: 1e9 * v}
		o.Proxy = result.Usage{CPUSeconds: 1e4, MemoryBytes: v * (1 << 20)}
	case result.KindTransfer:
		o.Transfer = &result.TransferFacts{Victim: "x-1", Kind: "SST", Seconds: v, Bytes: 1e12, LoadBefore: 1000,
			LoadDuring: v, Donor: "x-0", Series: points}
	}
	grows := result.Sample{result.MetricCPU: 1e4 + float64(round), result.MetricReplicated: 1e9 + float64(round),
		result.MetricSent: 1e9 + float64(round), result.MetricPaused: 1e9, result.MetricCertFailure: 1e9,
		result.MetricBFAborts: 1e9}
	o.Members = map[string]result.Window{"x-0": {Before: result.Sample{result.MetricCPU: 0, result.MetricReplicated: 0,
		result.MetricSent: 0, result.MetricPaused: 0, result.MetricCertFailure: 0, result.MetricBFAborts: 0}, After: grows}}
	return o
}

// everything is a benchmark that has measured all of a spec, twice as often in vain, and cannot put everything back.
func everything(spec v1alpha1.GaleraBenchmarkSpec) (*v1alpha1.GaleraBenchmark, benchmarkFacts) {
	b := &v1alpha1.GaleraBenchmark{Spec: spec}
	b.Name = long(34, 0)
	now := metav1.NewTime(time.Unix(2e9, 0))
	b.Status.StartedAt, b.Status.EndingSince = &now, &now
	b.Status.Failure = &v1alpha1.BenchmarkFailure{Reason: v1alpha1.ReasonTooManyInvalidRuns,
		Message: shortened(strings.Repeat("é", 9999))}
	seen := benchmarkFacts{State: experiment.State{Benchmark: b, Judged: map[string]bool{}, Now: now.Time,
		Cluster: &v1alpha1.GaleraCluster{}}, StorageClass: long(253, 0)}
	add := func(r result.Record) {
		seen.Records = append(seen.Records, r)
		seen.Judged[experiment.Name(b.Name, r.Run)] = true
	}
	for i, c := range experiment.Cells(&b.Spec) {
		if d := experiment.DataSet(c); d.Database != "" && i < 8 {
			d.Bytes, d.Checksum = 1<<55, long(16, 0)
			add(result.Record{Run: result.Run{Kind: result.KindPrepare, Attempt: i + 1, Workload: d.Database,
				ClusterUUID: long(36, 0)}, Verdict: result.Verdict{Valid: true}, Output: &result.Output{Data: &d}})
		}
	}
	for _, run := range experiment.Runs(&b.Spec) {
		for attempt := 1; attempt < 3; attempt++ {
			add(result.Record{Run: run.Wire(attempt), Verdict: result.Verdict{Reason: strings.Repeat("é", 5000)}})
		}
		add(result.Record{Run: run.Wire(3), Verdict: result.Verdict{Valid: true}, Output: wordy(run.Cell.Kind, run.Round),
			Pods: pods(run.Round)})
	}
	return b, seen
}

// TestStatusStaysSmall: the status of the largest benchmark there can be is admitted by the CRD, and has less than 128
// KiB.
func TestStatusStaysSmall(t *testing.T) {
	admitted := statusSchema(t)
	for kind, spec := range largest() {
		b, seen := everything(spec)
		run := v1alpha1.BenchmarkRun{Arm: long(32, 0), Workload: long(32, 0), Variant: long(100, 0),
			Step: experiment.StepTransfer}
		d := experiment.Decision{Run: &run, Failed: true, Reason: v1alpha1.ReasonTooManyInvalidRuns,
			Message: strings.Repeat("é", 9999)}
		s := b.Status.DeepCopy()
		benchmarkStatus(s, b, seen, d, seen.Now)

		full := *admitted.Properties["results"].MaxItems
		if kind == "connect" {
			full = 3 * 16 // a fourth arm would be too much
		}
		if len(s.Results) != full || len(s.InvalidRuns) != *admitted.Properties["invalidRuns"].MaxItems ||
			len(s.Conditions) != 3 ||
			len(s.Environment.Hosts) != *admitted.Properties["environment"].Properties["hosts"].MaxItems {
			t.Fatalf("%s: not the largest: %d results, %d invalid runs", kind, len(s.Results), len(s.InvalidRuns))
		}
		for _, r := range s.Results {
			if r.Samples != 20 || r.Invalid != 40 || len(r.Figures) < 4 || r.Figures[0].Low == "" {
				t.Fatalf("%s: not the largest: %+v", kind, r)
			}
		}
		if kind == "oltp" && (len(s.DataSets) != 8 || len(s.Results[0].Figures) != 18) {
			t.Fatalf("%s: not the largest: %d data sets, %d figures", kind, len(s.DataSets), len(s.Results[0].Figures))
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		if why := admitted.refuses("status", value); why != "" {
			t.Errorf("%s: %s", kind, why)
		}
		if len(text) > 128<<10 {
			t.Errorf("%s: %d bytes", kind, len(text))
		}
	}
}
