// Package outcome reads what became of a backup's Job.
package outcome

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// startTime is how long a pod may need before it counts as one that does not start.
const startTime = time.Minute

// reasonWord matches the reason of a failure, or none.
var reasonWord = regexp.MustCompile(`^[A-Za-z]{0,64}$`)

// Outcome of a Job.
type Outcome struct {
	// Exists reports whether there is a Job; Done that it has ended, well if Result.Error is "".
	Exists, Done bool
	// Foreign reports whether the Job is of another object, which may have had the same name: it counts for nothing, and
	// none can be made.
	Foreign bool
	Result  task.Result
	// Location is the place that its store named when the Job was made, nil when that is not known.
	Location *v1alpha1.StoreLocation
	// Waits is why its pod does not start, "" when it runs or has just been made.
	Waits string
	// Address is that of its pod, "" while it does not run.
	Address string
}

// Of reads the owner's Job of that name. The owner is a UID: an object that is created again has none of the Jobs of
// the one before.
func Of(ctx context.Context, c client.Reader, owner client.Object, name string, now time.Time) (Outcome, error) {
	namespace := owner.GetNamespace()
	j := &batchv1.Job{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, j)
	if apierrors.IsNotFound(err) {
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	if !metav1.IsControlledBy(j, owner) {
		waits := fmt.Sprintf("waiting for the Job %s of an earlier object to be removed; delete it if it is not", name)
		return Outcome{Exists: true, Foreign: true, Waits: waits}, nil
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace),
		client.MatchingLabels{batchv1.JobNameLabel: name}); err != nil {
		return Outcome{}, err
	}
	pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, j) })
	return judge(j, pods.Items, now), nil
}

func judge(j *batchv1.Job, pods []corev1.Pod, now time.Time) Outcome {
	o := Outcome{Exists: true, Location: location.Parse(j.Annotations[v1alpha1.AnnotationStoreLocation])}
	failed := ""
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			o.Done = true
			if c.Type == batchv1.JobFailed {
				failed = fmt.Sprintf("the Job %s has failed: %s: %s", j.Name, c.Reason, c.Message)
			}
		}
	}
	for i := range pods {
		if reported, ok := result(j, &pods[i]); ok {
			o.Result = reported
		} else if running(&pods[i]) {
			o.Address = pods[i].Status.PodIP
		} else if !o.Done && pods[i].Status.Phase == corev1.PodPending &&
			now.Sub(pods[i].CreationTimestamp.Time) > startTime {
			o.Waits = fmt.Sprintf("the pod %s does not start: %s", pods[i].Name, why(&pods[i]))
		}
	}
	if !o.Done && len(pods) == 0 && now.Sub(j.CreationTimestamp.Time) > startTime {
		o.Waits = fmt.Sprintf("the Job %s has no pod: a ResourceQuota, a LimitRange or an admission policy may refuse it; "+
			"see kubectl describe job %s", j.Name, j.Name)
	}
	switch {
	case !o.Done:
		o.Result = task.Result{} // the Job's own end counts
	case failed != "" && o.Result.Error == "":
		o.Result = task.Result{Error: failed, Reason: task.ReasonToolFailed}
	}
	return o
}

func running(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

// result is what the program has left as the pod's termination message. Where an init container has failed, that is its
// own: the container after it was never started.
func result(j *batchv1.Job, p *corev1.Pod) (r task.Result, ok bool) {
	for _, s := range p.Status.InitContainerStatuses {
		if end := s.State.Terminated; end != nil && end.ExitCode != 0 && s.Name != job.ContainerFetch {
			return read(end, starved(j, p, s.Name, end)), true
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if end := s.State.Terminated; s.Name == job.Container && end != nil {
			return withFetch(j, p, read(end, starved(j, p, s.Name, end))), true
		}
	}
	return task.Result{}, false
}

// read is what a program has left. starved is what is known of its memory, "" for nothing.
func read(end *corev1.ContainerStateTerminated, starved string) (r task.Result) {
	if json.Unmarshal([]byte(end.Message), &r) != nil {
		said := end.Message
		if starved != "" && said == "" {
			said = starved
		} else if starved != "" {
			said = starved + ". It wrote last: " + said
		}
		r = task.Result{Error: fmt.Sprintf("the program ended with exit code %d (%s): %s", end.ExitCode, end.Reason, said),
			Reason: task.ReasonToolFailed}
	} else if r.Error != "" && starved != "" {
		r.Error += "; " + starved
	}
	agentapi.StripControls(&r) // what it quotes comes from an image, a store or another server
	if !reasonWord.MatchString(r.Reason) {
		// The API refuses a condition with such a reason, and the object would never get another one.
		r.Reason = task.ReasonToolFailed
	}
	return r
}

// withFetch adds to a failure how the sidecar that reads the store has ended: the program only sees that it has.
func withFetch(j *batchv1.Job, p *corev1.Pod, r task.Result) task.Result {
	for _, s := range p.Status.InitContainerStatuses {
		if end := s.LastTerminationState.Terminated; s.Name == job.ContainerFetch && end != nil && r.Error != "" {
			r.Error += fmt.Sprintf(" (its container %s ended with exit code %d: %s)", s.Name, end.ExitCode, end.Reason)
			if why := starved(j, p, s.Name, end); why != "" {
				r.Error += "; " + why
			}
		}
	}
	return r
}

func why(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, s := range append(append([]corev1.ContainerStatus{}, p.Status.InitContainerStatuses...),
		p.Status.ContainerStatuses...) {
		if w := s.State.Waiting; w != nil && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return w.Reason + ": " + w.Message
		}
	}
	for _, s := range p.Status.InitContainerStatuses {
		if s.State.Running != nil && s.Name != job.ContainerFetch {
			return "its container " + s.Name + " is at work"
		}
	}
	return "a Secret, a ConfigMap or a volume that it mounts may be missing, or lack a key; see kubectl describe pod " +
		p.Name
}
