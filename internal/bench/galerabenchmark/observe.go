package galerabenchmark

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// benchmarkFacts is what is known of a benchmark.
type benchmarkFacts struct {
	experiment.State
	// Pods of the cluster and of the Job.
	Pods []corev1.Pod
	// StorageClass of the cluster's volumes; "" when it is not known.
	StorageClass string
	// ProxyWords are the last ones of the Job's pooling proxy, if that crashed.
	ProxyWords string
	// ProxyProblem is what is wrong with the GaleraProxy of the Job; "" for nothing, or no proxy.
	ProxyProblem string
}

// observeBenchmark reads everything a decision depends on.
func (r *Reconciler) observeBenchmark(ctx context.Context, b *v1alpha1.GaleraBenchmark) (benchmarkFacts, error) {
	f := benchmarkFacts{State: experiment.State{Benchmark: b, Judged: map[string]bool{}, Now: r.Now()}}
	c := &v1alpha1.GaleraCluster{}
	switch err := r.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: objects.ClusterName(b)}, c); {
	case client.IgnoreNotFound(err) != nil:
		return f, err
	case err == nil && c.DeletionTimestamp == nil && (b.Spec.Cluster.Ref != nil || metav1.IsControlledBy(c, b)):
		f.Cluster = c
	default:
		f.Going = err == nil && c.DeletionTimestamp != nil && metav1.IsControlledBy(c, b)
	}
	var err error
	if f.Accounts, err = r.parts().accounts(ctx, b); err != nil {
		return f, err
	}
	if f.HolderGone, err = r.holderGone(ctx, b, f.Cluster); err != nil {
		return f, err
	}
	if f.StorageClass, err = r.storageClass(ctx, f.Cluster); err != nil {
		return f, err
	}
	ours := []client.ListOption{client.InNamespace(b.Namespace), client.MatchingLabels{v1alpha1.LabelBenchmark: b.Name}}
	if b.Status.CompletedAt == nil {
		if f.Missing, err = r.missing(ctx, b); err != nil {
			return f, err
		}
		if f.Cluster == nil && c.UID != "" && c.DeletionTimestamp == nil {
			f.Missing = fmt.Sprintf(
				"the GaleraCluster %q exists and is not this benchmark's, whose private cluster would have this name; remove "+
					"that one, or give the benchmark another name", c.Name)
		}
	}
	var maps corev1.ConfigMapList
	if err := r.List(ctx, &maps, ours...); err != nil {
		return f, err
	}
	for i := range maps.Items {
		if metav1.IsControlledBy(&maps.Items[i], b) {
			f.addRecord(&maps.Items[i])
		}
	}
	f.sortRecords()
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(b.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: objects.ClusterName(b)}); err != nil {
		return f, err
	}
	f.Pods, f.Acceleration = pods.Items, acceleration(pods.Items)
	var list batchv1.JobList
	if err := r.List(ctx, &list, ours...); err != nil {
		return f, err
	}
	if j := current(b, list.Items); j != nil {
		f.Job = f.describe(j)
		err = r.observeJob(ctx, b, &f)
	}
	return f, err
}

// observeJob reads what a decision about the Job depends on.
func (r *Reconciler) observeJob(ctx context.Context, b *v1alpha1.GaleraBenchmark, f *benchmarkFacts) (err error) {
	if f.Backup, err = r.backupOf(ctx, b, f.Job); err != nil {
		return err
	}
	if name := proxyOf(b, f.Job.Name, f.Records); name != "" {
		p, err := r.parts().proxyProblem(ctx, b, name)
		if err != nil {
			return err
		}
		f.ProxyProblem = p.message
	}
	return r.lateResult(ctx, b, f)
}

// proxyOf names the GaleraProxy that a Job's connections go through, "" for none.
func proxyOf(b *v1alpha1.GaleraBenchmark, job string, records []result.Record) string {
	for _, r := range records {
		for _, w := range b.Spec.Workloads {
			if _, ref := experiment.Through(&w); ref != nil && w.Name == r.Workload && r.Kind != result.KindPrepare &&
				experiment.Name(b.Name, r.Run) == job {
				return ref.Name
			}
		}
	}
	return ""
}

// lateResult reads the result of a Job that has ended from the API server if the cache has none: the two are watched
// apart, and the Job's end may be seen first.
func (r *Reconciler) lateResult(ctx context.Context, b *v1alpha1.GaleraBenchmark, f *benchmarkFacts) error {
	at := slices.IndexFunc(f.Records,
		func(rec result.Record) bool { return experiment.Name(b.Name, rec.Run) == f.Job.Name })
	if !f.Job.Finished || at < 0 || f.Records[at].Output != nil || f.Judged[f.Job.Name] {
		return nil
	}
	cm := &corev1.ConfigMap{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: f.Job.Name}, cm); err != nil {
		return client.IgnoreNotFound(err)
	}
	if r, _, ok := result.ReadRecord(cm.Data); ok {
		f.Records[at].Output = r.Output
	}
	return nil
}

// current is the one of a benchmark's Jobs that is observed, nil when there is none. One that is deleted, and whose pod
// cannot end, may stay next to the next one.
func current(b *v1alpha1.GaleraBenchmark, all []batchv1.Job) (found *batchv1.Job) {
	for i := range all {
		j := &all[i]
		if !metav1.IsControlledBy(j, b) {
			continue
		}
		if found == nil || newer(j, found) {
			found = j
		}
	}
	return found
}

// newer reports whether a Job is not being deleted and another one is, or whether it was made after that one.
func newer(j, than *batchv1.Job) bool {
	if going := j.DeletionTimestamp != nil; going != (than.DeletionTimestamp != nil) {
		return !going
	}
	return than.CreationTimestamp.Before(&j.CreationTimestamp)
}

// holderGone reports whether the benchmark a cluster is marked with is not at work any more.
func (r *Reconciler) holderGone(ctx context.Context, b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) (bool,
	error) {
	if c == nil || c.Annotations[v1alpha1.AnnotationBenchmark] == "" ||
		c.Annotations[v1alpha1.AnnotationBenchmark] == b.Name {
		return false, nil
	}
	other := &v1alpha1.GaleraBenchmark{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: c.Annotations[v1alpha1.AnnotationBenchmark]},
		other)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && (other.Status.CompletedAt != nil || other.Spec.Cluster.Ref == nil ||
		other.Spec.Cluster.Ref.Name != c.Name), err
}

// addRecord reads one attempt.
func (f *benchmarkFacts) addRecord(cm *corev1.ConfigMap) {
	r, judged, ok := result.ReadRecord(cm.Data)
	if !ok {
		return
	}
	if judged {
		f.Judged[cm.Name] = true
	}
	f.Records = append(f.Records, r)
}

// sortRecords puts them into the order of their runs; what has no number goes before.
func (f *benchmarkFacts) sortRecords() {
	slices.SortFunc(f.Records, func(a, b result.Record) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(a.Kind, b.Kind), cmp.Compare(a.Attempt, b.Attempt))
	})
}

// describe returns how far a Job is.
func (f *benchmarkFacts) describe(j *batchv1.Job) *experiment.Job {
	work := planOf(j)
	out := &experiment.Job{Name: j.Name, Operation: work.Operation}
	if work.Transfer != nil {
		out.Victim = work.Transfer.Victim
	}
	if j.DeletionTimestamp != nil {
		out.GoingSince = j.DeletionTimestamp.Time
	}
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			out.Finished, out.Message = true, c.Message
		}
	}
	for _, p := range f.Pods {
		if p.Labels[batchv1.JobNameLabel] != j.Name && p.Labels[v1alpha1.LabelTunnel] != objects.TunnelName(j.Name) {
			continue
		}
		for _, s := range append(slices.Clone(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...) {
			switch {
			case s.State.Terminated != nil && s.State.Terminated.Message != "":
				out.Message = s.State.Terminated.Message
			case s.State.Waiting != nil && s.State.Waiting.Message != "":
				out.Message = s.State.Waiting.Reason + ": " + s.State.Waiting.Message
			case s.Name == objects.ClientContainer && s.State.Running != nil:
				out.RunningSince = s.State.Running.StartedAt.Time
			}
			if s.Name == objects.ProxyContainer {
				f.ProxyWords = crashed(s)
			}
		}
		if p.Status.StartTime != nil && clientWaits(&p) {
			out.WaitingSince = p.Status.StartTime.Time
		}
		unready(&p, out, f.Now)
		if p.DeletionTimestamp != nil {
			out.WaitingSince, out.Message = p.DeletionTimestamp.Time, "its pod was deleted, or its host is lost"
		}
		if c := unscheduled(&p); c != nil {
			out.WaitingSince, out.Message = c.LastTransitionTime.Time, c.Reason+": "+c.Message
		}
	}
	podless(j, out, f.Pods, f.Now)
	return out
}

// crashed returns the last words of a container that ended with a failure, now or before it was started again.
func crashed(s corev1.ContainerStatus) string {
	for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
		if t := state.Terminated; t != nil && t.ExitCode != 0 {
			return strings.Join(result.LastWords(t.Message, 2), " / ")
		}
	}
	return ""
}

// clientWaits reports whether the client's container has not started, and whether kubelet complains of one: of an
// image, mostly.
func clientWaits(p *corev1.Pod) bool {
	ofClient := func(s corev1.ContainerStatus) bool {
		return s.Name == objects.ClientContainer && s.State.Waiting != nil
	}
	complains := func(s corev1.ContainerStatus) bool { return s.State.Waiting != nil && s.State.Waiting.Message != "" }
	return slices.ContainsFunc(p.Status.ContainerStatuses, ofClient) &&
		(slices.ContainsFunc(p.Status.InitContainerStatuses, complains) || slices.ContainsFunc(p.Status.ContainerStatuses,
			complains))
}

// unscheduled is the scheduler's complaint that no node takes a pod, nil when there is none.
func unscheduled(p *corev1.Pod) *corev1.PodCondition {
	for i, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// planOf returns the plan of a Job. What it is about must never become another node, whichever is the primary by now.
func planOf(j *batchv1.Job) (p result.Plan) {
	for _, c := range j.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			var found result.Plan
			if e.Name == result.EnvPlan && json.Unmarshal([]byte(e.Value), &found) == nil {
				p = found
			}
		}
	}
	return p
}

// acceleration is that of all database pods: On, Off, or "" when they differ. On is also what there is without pods.
func acceleration(pods []corev1.Pod) string {
	off, all := 0, 0
	for _, p := range pods {
		for _, c := range p.Spec.Containers {
			if c.Name != cluster.Container {
				continue // a Job's
			}
			for _, want := range cluster.WithoutAcceleration() {
				all++
				if slices.Contains(c.Env, want) {
					off++
				}
			}
		}
	}
	switch off {
	case 0:
		return "On"
	case all:
		return "Off"
	}
	return ""
}
