package galerabenchmark

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// recordWith is a record of a run that counts, and of its environment.
func recordWith(e result.Environment) result.Record {
	return result.Record{Run: result.Run{Index: 1, Kind: result.KindOLTP}, Verdict: result.Verdict{Valid: true},
		Output: &result.Output{Environment: e}}
}

func TestEnvironmentOfAllRuns(t *testing.T) {
	failed := recordWith(result.Environment{MariaDB: "of a run that does not count"})
	failed.Valid = false
	prepared := result.Record{Run: result.Run{Kind: result.KindPrepare, Attempt: 1, Workload: "bench_1x10"},
		Verdict: result.Verdict{Valid: true},
		Output:  &result.Output{Data: &result.DataSet{Tables: 1, Rows: 10, Bytes: 3e6, Checksum: "abc"}}}
	seen := benchmarkFacts{State: experiment.State{Benchmark: &v1alpha1.GaleraBenchmark{},
		Cluster: &v1alpha1.GaleraCluster{},
		Records: []result.Record{prepared}}}
	seen.Cluster.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	if e := environment(nil, seen, []result.Record{failed}); e != nil {
		t.Errorf("nothing counts: %+v", e)
	}
	runs := []result.Record{failed, {Verdict: result.Verdict{Valid: true}},
		recordWith(result.Environment{MariaDB: "11.4"}), recordWith(result.Environment{MariaDB: "11.5", Galera: "26.4"})}
	e := environment(nil, seen, runs)
	if e.MariaDB != "11.4" || e.Galera != "26.4" || !e.Limits.Cpu().Equal(resource.MustParse("2")) ||
		e.StorageClass != "default" {
		t.Errorf("got %+v", e)
	}
	if want := []v1alpha1.BenchmarkDataSet{{Name: "bench_1x10", Tables: 1, Rows: 10, Bytes: 3e6,
		Checksum: "abc"}}; !slices.Equal(e.DataSets, want) {
		t.Errorf("data: %+v", e.DataSets)
	}
	seen.Cluster = nil // removed by now
	if got := environment(e, seen, append(runs, recordWith(result.Environment{Sysbench: "1.0"}))); got.Sysbench != "1.0" ||
		got.MariaDB != "11.4" || !got.Limits.Cpu().Equal(*e.Limits.Cpu()) {
		t.Errorf("later: %+v", got)
	}
	seen.Cluster, seen.StorageClass = &v1alpha1.GaleraCluster{}, "standard"
	if e := environment(nil, seen, runs); e.StorageClass != "standard" || len(e.Limits) != 0 {
		t.Errorf("got %+v", e)
	}
}

// TestSpentAfterAFailure: a run that failed before its window has no end.
func TestSpentAfterAFailure(t *testing.T) {
	begun := metav1.NewTime(time.Unix(1e9, 0))
	run := func(index int, end time.Duration) result.Record {
		r := result.Record{Run: result.Run{Index: index}, Output: &result.Output{}}
		if end > 0 {
			r.Output.EndedAt = begun.Add(end)
		}
		return r
	}
	s := &v1alpha1.GaleraBenchmarkStatus{StartedAt: &begun}
	for name, tc := range map[string]struct {
		records []result.Record
		want    time.Duration
	}{
		"two runs":              {[]result.Record{run(1, time.Minute), run(2, 5*time.Minute)}, 5 * time.Minute},
		"the last one failed":   {[]result.Record{run(1, time.Minute), run(2, 5*time.Minute), run(3, 0)}, 5 * time.Minute},
		"the first one, by far": {[]result.Record{run(1, 9*time.Minute), run(2, 5*time.Minute)}, 9 * time.Minute},
		"none has ended":        {[]result.Record{run(1, 0)}, time.Hour},
	} {
		seen := benchmarkFacts{State: experiment.State{Records: tc.records}}
		if got := spent(s, seen, begun.Add(time.Hour)); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestTroubleOfTheScheduler: only the scheduler speaks of a pod that no node takes.
func TestTroubleOfTheScheduler(t *testing.T) {
	since := metav1.NewTime(time.Unix(1e9, 0))
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "x-run-001-1"}}}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/3 nodes are available", LastTransitionTime: since}
	describe := func() *experiment.Job {
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

// TestTroubleOfJobsWithoutAPod: a quota, or a policy, may refuse it, and only an event reports it.
func TestTroubleOfJobsWithoutAPod(t *testing.T) {
	made := time.Unix(1e9, 0)
	for name, tc := range map[string]struct {
		after  time.Duration
		status batchv1.JobStatus
		pods   []corev1.Pod
		waits  bool
	}{
		"just made":        {10 * time.Second, batchv1.JobStatus{}, nil, false},
		"made a while ago": {2 * time.Minute, batchv1.JobStatus{}, nil, true},
		"with its pod": {2 * time.Minute, batchv1.JobStatus{},
			[]corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{batchv1.JobNameLabel: "x-run-001-1"}}}},
			false},
		"with another's": {2 * time.Minute, batchv1.JobStatus{},
			[]corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelTunnel: "x-run-001-1-tunnel"}}}},
			true},
		"not seen yet":  {2 * time.Minute, batchv1.JobStatus{Active: 1}, nil, false},
		"it has failed": {2 * time.Minute, batchv1.JobStatus{Failed: 1}, nil, false},
	} {
		f := benchmarkFacts{State: experiment.State{Now: made.Add(tc.after)}, Pods: tc.pods}
		got := f.describe(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x-run-001-1",
			CreationTimestamp: metav1.NewTime(made)}, Status: tc.status})
		if got.WaitingSince.Equal(made) != tc.waits || strings.Contains(got.Message,
			"kubectl describe job x-run-001-1") != tc.waits {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestTroubleOfVolumes: a Secret that is never made keeps a pod from beginning, and its containers report nothing.
func TestTroubleOfVolumes(t *testing.T) {
	since := time.Unix(1e9, 0)
	for name, tc := range map[string]struct {
		after time.Duration
		phase corev1.PodPhase
		ready corev1.ConditionStatus
		waits bool
	}{
		"at first":    {10 * time.Second, corev1.PodPending, corev1.ConditionFalse, false},
		"for a while": {2 * time.Minute, corev1.PodPending, corev1.ConditionFalse, true},
		"begun":       {2 * time.Minute, corev1.PodPending, corev1.ConditionTrue, false},
		"ended":       {2 * time.Minute, corev1.PodSucceeded, corev1.ConditionFalse, false},
	} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x-pod",
			Labels: map[string]string{batchv1.JobNameLabel: "x-run-001-1"}}}
		p.Status.Phase, p.Status.StartTime = tc.phase, &metav1.Time{Time: since}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: tc.ready,
			LastTransitionTime: metav1.NewTime(since)}}
		f := benchmarkFacts{State: experiment.State{Now: since.Add(tc.after)}, Pods: []corev1.Pod{p}}
		got := f.describe(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x-run-001-1"}})
		if got.WaitingSince.Equal(since) != tc.waits || strings.Contains(got.Message,
			"kubectl describe pod x-pod") != tc.waits {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
