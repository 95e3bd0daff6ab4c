package galerabenchmark

import (
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
	"github.com/galera-operator/galera-operator/internal/conditions"
)

// benchmarkStatus computes the status of what is known and decided.
func benchmarkStatus(s *v1alpha1.GaleraBenchmarkStatus, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	d experiment.Decision, now time.Time) {
	s.ObservedGeneration = b.Generation
	if s.CompletedAt != nil {
		return // what was measured is measured
	}
	s.Run = d.Run
	s.ArmNames = experiment.Arms(&b.Spec)
	s.Arms = strings.Join(s.ArmNames, ", ")
	s.Design = experiment.Design(&b.Spec)
	s.EstimatedTime = &metav1.Duration{Duration: experiment.Estimate(&b.Spec)}
	var measured []result.Record
	valid, inside := 0, time.Duration(0)
	for _, r := range seen.Records {
		switch {
		case r.Index == 0:
			continue
		case !seen.Judged[experiment.Name(b.Name, r.Run)]:
			continue
		}
		measured = append(measured, r)
		if r.Valid {
			valid++
		}
		if r.Output != nil && !r.Output.StartedAt.IsZero() {
			inside += r.Output.EndedAt.Sub(r.Output.StartedAt)
		}
	}
	if s.StartedAt == nil && d.Run != nil {
		s.StartedAt = &metav1.Time{Time: now}
	}
	if s.EndingSince == nil && d.Ending {
		s.EndingSince = &metav1.Time{Time: now}
	}
	s.DataSets = dataSets(seen, d)
	s.MeasuredTime = &metav1.Duration{Duration: inside.Truncate(time.Second)}
	s.Results, s.Comparisons = summary.Results(&b.Spec, measured)
	s.Verdict = summary.Verdict(s.Results, s.Comparisons)
	s.InvalidRuns = summary.Invalid(measured)
	s.Progress = summary.Progress(valid, len(experiment.Runs(&b.Spec)), spent(s, seen, now), s.EstimatedTime.Duration)
	s.Environment = environment(s.Environment, seen, measured)
	noteAction(s, d, now)
	benchmarkConditions(s, b, d)
}

// spent is the time that counts for the estimate: until the end of the last run, so that the text changes with runs
// only.
func spent(s *v1alpha1.GaleraBenchmarkStatus, seen benchmarkFacts, now time.Time) time.Duration {
	if s.StartedAt == nil {
		return 0
	}
	var last time.Time // a run that failed before its window has no end
	for _, r := range seen.Records {
		if r.Output != nil && r.Index > 0 && r.Output.EndedAt.After(last) {
			last = r.Output.EndedAt
		}
	}
	if last.IsZero() {
		last = now
	}
	return last.Sub(s.StartedAt.Time)
}

// noteAction keeps what an action needs to have written down before it.
func noteAction(s *v1alpha1.GaleraBenchmarkStatus, d experiment.Decision, now time.Time) {
	switch d.Action.(type) {
	case experiment.GiveUp:
		s.Failure = &v1alpha1.BenchmarkFailure{Reason: d.Reason, Message: shortened(d.Message)}
	case experiment.Finish:
		s.CompletedAt, s.Run = &metav1.Time{Time: now}, nil
	}
}

// dataSets are those that are in the database: they go with the benchmark's databases.
func dataSets(seen benchmarkFacts, d experiment.Decision) []v1alpha1.BenchmarkDataSet {
	if d.Ending && len(seen.Accounts) == 0 {
		return nil
	}
	return madeSets(seen)
}

// madeSets are all data sets that were ever made, each as it was made last.
func madeSets(seen benchmarkFacts) (out []v1alpha1.BenchmarkDataSet) {
	made := map[string]result.Record{}
	for _, r := range seen.Records {
		if r.Valid && r.Kind == result.KindPrepare && r.Output != nil && r.Output.Data != nil &&
			r.Attempt > made[r.Workload].Attempt {
			made[r.Workload] = r
		}
	}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		r := made[name]
		d := r.Output.Data
		out = append(out, v1alpha1.BenchmarkDataSet{Name: name, ClusterUUID: r.ClusterUUID, Tables: int32(d.Tables),
			Databases: int32(d.Databases), //nolint:gosec // at most 256
			Rows:      d.Rows, Bytes: d.Bytes, Checksum: d.Checksum})
	}
	return out
}

// maxMessage keeps conditions readable.
const maxMessage = 2000

func shortened(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}

func benchmarkConditions(s *v1alpha1.GaleraBenchmarkStatus, b *v1alpha1.GaleraBenchmark, d experiment.Decision) {
	message := shortened(d.Message)
	set := func(kind string, is bool, reason string) {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		conditions.Set(&s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message,
			ObservedGeneration: b.Generation})
	}
	_, over := d.Action.(experiment.Finish)
	set(v1alpha1.ConditionComplete, over && !d.Failed, d.Reason)
	set(v1alpha1.ConditionReconciling, !over && !d.Stalled && d.Reason != v1alpha1.ReasonPaused, d.Reason)
	set(v1alpha1.ConditionStalled, d.Stalled || over && d.Failed, d.Reason)
}
