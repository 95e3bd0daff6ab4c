package outcome

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/galera-operator/galera-operator/internal/backup/job"
)

// reasonMemory is the kubelet's where the kernel has ended a container, or a process in it, for memory.
const reasonMemory = "OOMKilled"

// starved is why a container was ended for its memory, and what to do; "" where it was not.
func starved(j *batchv1.Job, p *corev1.Pod, container string, end *corev1.ContainerStateTerminated) string {
	if end.Reason != reasonMemory {
		return ""
	}
	limit := limitOf(p, container)
	if limit == "" {
		return fmt.Sprintf("its container %s has no limit, and its host ran out of memory. Raise %s", container,
			job.MemoryField(j, container, "requests"))
	}
	needs := fmt.Sprintf("its container %s needed more memory than its limit of %s", container, limit)
	if field := job.MemoryField(j, container, "limits"); field != "" {
		return needs + ". Raise " + field
	}
	return needs + ", which is fixed. Report it as a bug"
}

// limitOf is how much memory a container of a pod may take, "" for no bound.
func limitOf(p *corev1.Pod, name string) string {
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		if limit := c.Resources.Limits.Memory(); c.Name == name && !limit.IsZero() {
			return limit.String()
		}
	}
	return ""
}
