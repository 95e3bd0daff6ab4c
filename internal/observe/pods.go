package observe

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

func pod(p *corev1.Pod, sts *appsv1.StatefulSet, now time.Time) galera.Pod {
	return galera.Pod{
		Exists:      true,
		UID:         string(p.UID),
		Terminating: p.DeletionTimestamp != nil,
		Ready:       serverReady(p),
		Unsettled:   unsettled(p, now),
		Outdated:    outdated(p, sts),
		Waiting:     waiting(p, resources.ContainerName),
		Creating:    creating(p),
	}
}

// PodReady returns the pod's condition Ready: whether all of its containers pass their readiness probes.
func PodReady(p *corev1.Pod) bool {
	c := readiness(p)
	return c != nil && c.Status == corev1.ConditionTrue
}

func readiness(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

// serverReady returns whether the database container passes its readiness probe, whatever the other containers do. A
// pod that is not ready for any other reason than its containers and gates, as on a host that is lost, has no status
// that holds.
func serverReady(p *corev1.Pod) bool {
	c := readiness(p)
	switch {
	case c == nil:
		return false
	case c.Status == corev1.ConditionTrue:
		return true
	case c.Reason != "ContainersNotReady" && c.Reason != "ReadinessGatesNotReady":
		return false
	}
	s := containerStatus(p, resources.ContainerName)
	return s != nil && s.Ready
}

func containerStatus(p *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// waiting returns whether the pod has no host, or kubelet cannot start its main container, or one that comes before it.
// While the main container runs, the others do not matter: a sidecar that crashes is no evidence about the server.
func waiting(p *corev1.Pod, main string) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return true
		}
	}
	s := containerStatus(p, main)
	if s != nil && s.State.Waiting == nil {
		return false
	}
	return s != nil && held(*s) || slices.ContainsFunc(p.Status.InitContainerStatuses, held)
}

// creating returns whether kubelet has yet to start the database container for the first time, as far as it tells, and
// is not kept from it.
func creating(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodPending || waiting(p, resources.ContainerName) {
		return false
	}
	s := containerStatus(p, resources.ContainerName)
	return s == nil || s.State.Running == nil && s.State.Terminated == nil && s.RestartCount == 0
}

// ServerRuns returns whether the database container runs, by kubelet's last word.
func ServerRuns(p *corev1.Pod) bool {
	s := containerStatus(p, resources.ContainerName)
	return s != nil && s.State.Running != nil
}

// held returns whether a container waits for more than its turn.
func held(s corev1.ContainerStatus) bool {
	w := s.State.Waiting
	return w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating"
}

const (
	// settleTime is how long a container must have run before its pod counts as settled: one that ends shortly after its
	// start must not be brought to the next node.
	settleTime = 30 * time.Second
	// maxSettle bounds the wait for a container that has run for long before it ended.
	maxSettle = 10 * time.Minute
)

// unsettled returns why the pod, though it may be ready, cannot show yet that its template is a good one; "" when it
// can. The operator's own containers count at once, unless they were restarted: their probes are known.
func unsettled(p *corev1.Pod, now time.Time) string {
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		own := resources.OwnContainer(s.Name)
		switch {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0 && s.State.Running == nil &&
			!restartable(p, s.Name):
			continue // an init container that is done
		case s.State.Running == nil:
			return fmt.Sprintf("the container %s does not run%s", s.Name, restarts(s))
		case !own && !s.Ready:
			return fmt.Sprintf("the container %s is not ready%s", s.Name, restarts(s))
		case own && s.RestartCount == 0:
		case recent(s, now):
			return fmt.Sprintf("the container %s was started a moment ago%s", s.Name, restarts(s))
		}
	}
	if c := readiness(p); c != nil && c.Reason == "ReadinessGatesNotReady" {
		return "its readiness gates are not met"
	}
	return ""
}

func restartable(p *corev1.Pod, name string) bool {
	return !slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && (c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways)
	})
}

// recent returns whether a container has run for less than settleTime, or for less than before it ended last. A start
// in the future is by another clock: it counts as now, and one far in the future as long ago, so that the wait ends.
func recent(s corev1.ContainerStatus, now time.Time) bool {
	needs := settleTime
	if last := s.LastTerminationState.Terminated; last != nil {
		needs = min(max(needs, last.FinishedAt.Sub(last.StartedAt.Time)), maxSettle)
	}
	ran := now.Sub(s.State.Running.StartedAt.Time)
	return ran < needs && ran > -settleTime
}

func restarts(s corev1.ContainerStatus) string {
	switch s.RestartCount {
	case 0:
		return ""
	case 1:
		return ", and has restarted once"
	}
	return fmt.Sprintf(", and has restarted %d times", s.RestartCount)
}

// Failing returns the sidecar that ends again and again, nil when there is none: it was restarted at least
// twice, and has not run for longer than before.
func Failing(p *corev1.Pod, now time.Time) *corev1.ContainerStatus {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	for i := range all {
		s := &all[i]
		if !resources.OwnContainer(s.Name) && s.RestartCount >= 2 && restartable(p,
			s.Name) && (s.State.Running == nil || recent(*s, now)) {
			return s
		}
	}
	return nil
}

// unplaced returns whether a member never ran, by Kubernetes: its pod is there and has no host, its claim is there and
// has no volume.
func unplaced(f Facts, ordinal int) bool {
	p, claim := f.Pods[resources.PodName(f.Cluster, ordinal)], f.Claims[resources.ClaimName(f.Cluster, ordinal)]
	return p != nil && p.Spec.NodeName == "" && claim != nil && claim.DeletionTimestamp == nil &&
		claim.Status.Phase == corev1.ClaimPending && claim.Spec.VolumeName == ""
}
