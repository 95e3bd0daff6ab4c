package controllers

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/steps"
	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// told is a record of a run that counts, and what it says of where it was.
func told(e wire.Environment) wire.Record {
	return wire.Record{Run: wire.Run{Index: 1, Kind: wire.KindOLTP}, Verdict: wire.Verdict{Valid: true}, Output: &wire.Output{Environment: e}}
}

func TestEnvironmentOfAllRuns(t *testing.T) {
	failed := told(wire.Environment{MariaDB: "of a run that does not count"})
	failed.Valid = false
	prepared := wire.Record{Run: wire.Run{Kind: wire.KindPrepare, Attempt: 1, Workload: "bench_1x10"}, Verdict: wire.Verdict{Valid: true},
		Output: &wire.Output{Data: &wire.DataSet{Tables: 1, Rows: 10, Bytes: 3e6, Checksum: "abc"}}}
	seen := benchmarkFacts{State: steps.State{Benchmark: &v1alpha1.GaleraBenchmark{}, Cluster: &v1alpha1.GaleraCluster{}, Records: []wire.Record{prepared}}}
	seen.Cluster.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	if e := environment(nil, seen, []wire.Record{failed}); e != nil {
		t.Errorf("nothing counts: %+v", e)
	}
	runs := []wire.Record{failed, {Verdict: wire.Verdict{Valid: true}}, told(wire.Environment{MariaDB: "11.4"}), told(wire.Environment{MariaDB: "11.5", Galera: "26.4"})}
	e := environment(nil, seen, runs)
	if e.MariaDB != "11.4" || e.Galera != "26.4" || e.Limits != "cpu 2, memory none" || e.StorageClass != "default" {
		t.Errorf("got %+v", e)
	}
	if e.DataSet != "bench_1x10: 1 tables of 10 rows, 3 MB, checksum abc" {
		t.Errorf("data: %q", e.DataSet)
	}
	seen.Cluster = nil // removed by now
	if got := environment(e, seen, append(runs, told(wire.Environment{Sysbench: "1.0"}))); got.Sysbench != "1.0" || got.MariaDB != "11.4" || got.Limits != e.Limits {
		t.Errorf("later: %+v", got)
	}
	seen.Cluster, seen.StorageClass = &v1alpha1.GaleraCluster{}, "standard"
	if e := environment(nil, seen, runs); e.StorageClass != "standard" || e.Limits != "none" {
		t.Errorf("got %+v", e)
	}
}

// TestSpentAfterAFailure: a run that failed before its window has no end.
func TestSpentAfterAFailure(t *testing.T) {
	begun := metav1.NewTime(time.Unix(1e9, 0))
	run := func(index int, end time.Duration) wire.Record {
		r := wire.Record{Run: wire.Run{Index: index}, Output: &wire.Output{}}
		if end > 0 {
			r.Output.EndedAt = begun.Add(end)
		}
		return r
	}
	s := &v1alpha1.GaleraBenchmarkStatus{StartedAt: &begun}
	for name, tc := range map[string]struct {
		records []wire.Record
		want    time.Duration
	}{
		"two runs":              {[]wire.Record{run(1, time.Minute), run(2, 5*time.Minute)}, 5 * time.Minute},
		"the last one failed":   {[]wire.Record{run(1, time.Minute), run(2, 5*time.Minute), run(3, 0)}, 5 * time.Minute},
		"the first one, by far": {[]wire.Record{run(1, 9*time.Minute), run(2, 5*time.Minute)}, 9 * time.Minute},
		"none has ended":        {[]wire.Record{run(1, 0)}, time.Hour},
	} {
		if got := spent(s, benchmarkFacts{State: steps.State{Records: tc.records}}, begun.Add(time.Hour)); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestTroubleOfTheScheduler: nobody but the scheduler speaks of a pod that no node takes.
func TestTroubleOfTheScheduler(t *testing.T) {
	since := metav1.NewTime(time.Unix(1e9, 0))
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "x-run-001-1"}}}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available", LastTransitionTime: since}
	describe := func() *steps.Job {
		pod.Status.Conditions = []corev1.PodCondition{scheduled}
		f := benchmarkFacts{Pods: []corev1.Pod{pod}}
		return f.describe(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x-run-001-1"}})
	}
	if got := describe(); got.Message != "Unschedulable: 0/3 nodes are available" || !got.WaitingSince.Equal(since.Time) {
		t.Errorf("got %+v", got)
	}
	scheduled.Status = corev1.ConditionTrue
	if got := describe(); got.Message != "" || !got.WaitingSince.IsZero() {
		t.Errorf("scheduled: %+v", got)
	}
}
