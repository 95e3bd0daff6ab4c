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
	runs := []wire.Record{failed, {Verdict: wire.Verdict{Valid: true}}, told(wire.Environment{MariaDB: "11.4"}), told(wire.Environment{MariaDB: "11.5", CPU: "x86"})}
	e := environment(nil, seen, runs)
	if e.MariaDB != "11.4" || e.CPU != "x86" || e.Limits != "cpu 2, memory none" || e.StorageClass != "default" {
		t.Errorf("got %+v", e)
	}
	if e.DataSet != "bench_1x10: 1 tables of 10 rows, 3 MB, checksum abc" {
		t.Errorf("data: %q", e.DataSet)
	}
	seen.Cluster = nil // removed by now
	if got := environment(e, seen, append(runs, told(wire.Environment{Kernel: "6.1"}))); got.Kernel != "6.1" || got.MariaDB != "11.4" || got.Limits != e.Limits {
		t.Errorf("later: %+v", got)
	}
	seen.Cluster, seen.StorageClass = &v1alpha1.GaleraCluster{}, "standard"
	if e := environment(nil, seen, runs); e.StorageClass != "standard" || e.Limits != "none" {
		t.Errorf("got %+v", e)
	}
}

// TestEnvironmentWaitsForAClient: one that is seen late is told all the same, and nothing is told of pods that start.
func TestEnvironmentWaitsForAClient(t *testing.T) {
	pod := func(name, container, id string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "w", Containers: []corev1.Container{{Name: container, Image: "i"}}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, ImageID: id}}
		return p
	}
	e := &v1alpha1.BenchmarkEnvironment{}
	placed(e, []corev1.Pod{pod("db-0", "mariadb", "sha"), pod("db-1", "mariadb", "")})
	if e.Nodes != "db-0=w" || e.DatabaseImage != "i (sha)" {
		t.Errorf("got %+v", e)
	}
	placed(e, []corev1.Pod{pod("db-0", "mariadb", "sha"), pod("job", "bench", "other")})
	if e.Nodes != "db-0=w, client=w" || e.ClientImage != "i (other)" {
		t.Errorf("got %+v", e)
	}
	placed(e, []corev1.Pod{pod("db-1", "mariadb", "sha")})
	if e.Nodes != "db-0=w, client=w" {
		t.Errorf("forgotten: %+v", e)
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
