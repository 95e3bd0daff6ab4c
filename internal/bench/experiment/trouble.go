package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// A cluster that is switched, or whose node is gone, may look stalled for a while and heal by itself; so a
// benchmark has patience with it.
const (
	// hopelessTime is for what only another spec can fix; a glimpse of it is not enough.
	hopelessTime = time.Minute
	// stalledTime is for what a user, or time, may fix.
	stalledTime = 20 * time.Minute
	// switchTime is for a cluster with which nothing is wrong, and which is not what a run needs all the same.
	switchTime = 2 * time.Hour
)

// hopeless are the reasons of a stalled cluster that stay until its spec is another one.
var hopeless = []string{
	v1alpha1.ReasonForbiddenSetting, v1alpha1.ReasonSettingsRefused, v1alpha1.ReasonTransferToolsMissing,
	v1alpha1.ReasonVolumeNotExpandable, v1alpha1.ReasonRebootstrapRequired,
}

// harmless are those of a stalled cluster whose nodes go on, and come back, with the certificate they have.
var harmless = []string{v1alpha1.ReasonCertificateRefused, v1alpha1.ReasonRenewalRefused}

// stalled is the cluster's own complaint, nil when it has none.
func stalled(c *v1alpha1.GaleraCluster) *metav1.Condition {
	found := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled)
	if found == nil || found.Status != metav1.ConditionTrue {
		return nil
	}
	return found
}

// trouble gives up on a cluster that does not become what a run needs. The zero Decision: go on waiting.
func trouble(s State, next Run) Decision {
	run := s.Benchmark.Status.Run
	if run == nil || run.Step != StepSwitch || int(run.Index) != next.Index || s.Going {
		return Decision{}
	}
	waited := s.Now.Sub(run.StartedAt.Time)
	if s.Cluster == nil {
		if s.Benchmark.Spec.Cluster.Template == nil || waited < switchTime {
			return Decision{}
		}
		return Decision{Failed: true, Reason: v1alpha1.ReasonClusterNotReady,
			Message: fmt.Sprintf("the private cluster was not made in %s: the operator's log has the API server's answer",
				waited.Round(time.Minute))}
	}
	if c := stalled(s.Cluster); c != nil {
		if why := tooLong(s, c, waited); why != "" {
			return Decision{Failed: true, Reason: v1alpha1.ReasonClusterNotReady, Message: why}
		}
		return Decision{}
	}
	if why := lacking(s, next); why != "" && waited >= switchTime {
		return Decision{Failed: true, Reason: v1alpha1.ReasonClusterNotReady,
			Message: fmt.Sprintf("the cluster has not become what the arm %s needs in %s: %s. Correct that, and create the "+
				"benchmark anew", run.Arm, waited.Round(time.Minute), why)}
	}
	return Decision{}
}

// tooLong reports whether a cluster has been stalled, and waited for, longer than a benchmark has patience; "" while it
// has.
func tooLong(s State, c *metav1.Condition, waited time.Duration) string {
	since, patience := s.Now.Sub(c.LastTransitionTime.Time), stalledTime
	if slices.Contains(hopeless, c.Reason) {
		patience = hopelessTime
	}
	if min(since, waited) < patience {
		return ""
	}
	return fmt.Sprintf("the cluster has been stalled for %s: %s: %s", since.Round(time.Second), c.Reason, c.Message)
}

// stuck reports whether the node whose data a running Job took, or that it let restart, does not come back, "" while it
// is waited for. The transfer itself makes the cluster not Ready, and a failed one is tried again: only Stalled counts,
// which asks for manual action.
func stuck(s State) string {
	j := s.Job
	if j.Victim == "" && j.Operation == nil || j.RunningSince.IsZero() || s.Cluster == nil {
		return ""
	}
	if s.Backup != nil && s.Backup.Status.Phase == v1alpha1.BackupFailed {
		return BackupProblem(s.Backup)
	}
	c := stalled(s.Cluster)
	if c == nil || slices.Contains(harmless, c.Reason) {
		return ""
	}
	return tooLong(s, c, s.Now.Sub(j.RunningSince))
}

// lacking is what a cluster is not yet of what a run needs, "" for nothing.
func lacking(s State, run Run) string {
	if !Has(s.Benchmark, s.Cluster, run) {
		return "its spec was not changed: the operator's log has the API server's answer"
	}
	if why := Proof(s.Cluster); why != "" {
		return why
	}
	why, _ := unprepared(s, run)
	return cmp.Or(acceleration(s, run), why)
}

// busy is the benchmark that measures the same cluster, "" when there is none.
func busy(s State) string {
	if s.Cluster == nil || s.HolderGone {
		return ""
	}
	if holder := s.Cluster.Annotations[v1alpha1.AnnotationBenchmark]; holder != s.Benchmark.Name {
		return holder
	}
	return ""
}

// claimed reports whether a referenced cluster is marked as measured by this benchmark.
func claimed(s State) bool {
	return s.Cluster.Annotations[v1alpha1.AnnotationBenchmark] == s.Benchmark.Name
}

// templateChanged reports whether the private cluster was made from another template. One that was made before there
// were such sums is believed.
func templateChanged(s State) bool {
	made := s.Cluster.Annotations[v1alpha1.AnnotationTemplate]
	return s.Benchmark.Spec.Cluster.Template != nil && made != "" && made != TemplateSum(s.Benchmark.Spec.Cluster.Template)
}
