package galerabenchmark

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/internal/bench/experiment"
)

// startGrace is what a pod may take to be made, and to have its volumes, before it is reported.
const startGrace = time.Minute

// podless reports a Job whose pod was never made: a quota, or a policy, may refuse it, and only an event shows which.
func podless(j *batchv1.Job, out *experiment.Job, pods []corev1.Pod, now time.Time) {
	if out.Finished || j.Status.Active > 0 || j.Status.Failed > 0 || j.Status.Succeeded > 0 ||
		now.Sub(j.CreationTimestamp.Time) < startGrace {
		return
	}
	for _, p := range pods {
		if p.Labels[batchv1.JobNameLabel] == j.Name {
			return
		}
	}
	out.WaitingSince, out.Message = j.CreationTimestamp.Time, "it has no pod; kubectl describe job "+j.Name+" shows why"
}

// unready reports a pod that has waited for its volumes or its network: for a Secret, say, that does not exist. Its
// containers report nothing of it.
func unready(p *corev1.Pod, out *experiment.Job, now time.Time) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse &&
			p.Status.Phase == corev1.PodPending &&
			now.Sub(c.LastTransitionTime.Time) >= startGrace {
			out.WaitingSince, out.Message = c.LastTransitionTime.Time,
				"its volumes or its network are not there; kubectl describe pod "+p.Name+" shows why"
		}
	}
}
