package outcome

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
)

// TestMemory: what is said of a container that was ended for its memory names the field that gives it more.
func TestMemory(t *testing.T) {
	const store, cluster = "spec.pods.resources.limits.memory of the GaleraBackupStore",
		"spec.resources.limits.memory of the GaleraCluster shop"
	end := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason,
			Message: message}}
	}
	program := func(state corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: job.Container, State: state}}}
	}
	initial := func(name string, state corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: name, State: state}}}
	}
	fetch := program(end(1, "Error", `{"error":"no end"}`))
	fetch.InitContainerStatuses = []corev1.ContainerStatus{{Name: job.ContainerFetch,
		LastTerminationState: end(137, "OOMKilled", "")}}
	for name, c := range map[string]struct {
		fills  bool // the Job has the cluster's image
		limit  string
		status corev1.PodStatus
		want   string
	}{
		"of a backup": {false, "512Mi", program(end(137, "OOMKilled", "last words")), "the program ended with exit code " +
			"137 (OOMKilled): its container backup needed more memory than its limit of 512Mi. Raise " + store +
			". It wrote last: last words"},
		"of a restore": {true, "1Gi", program(end(137, "OOMKilled", "last words")), "the program ended with exit code 137 " +
			"(OOMKilled): its container backup needed more memory than its limit of 1Gi. Raise " + cluster +
			". It wrote last: last words"},
		"a process of it": {true, "1Gi", program(end(1, "OOMKilled", `{"error":"mariadbd was killed"}`)),
			"mariadbd was killed; its container backup needed more memory than its limit of 1Gi. Raise " + cluster},
		"a process of one that ended well": {true, "1Gi", program(end(0, "OOMKilled", `{"restored":{"id":"x"}}`)), ""},
		"the one that reads the store": {true, "1Gi", fetch, "no end (its container fetch ended with exit code 137: " +
			"OOMKilled); its container fetch needed more memory than its limit of 1Gi. Raise " + store},
		"the one that tries the key": {true, "1Gi", initial(job.ContainerOpen, end(137, "OOMKilled", "")),
			"the program ended with exit code 137 (OOMKilled): its container open needed more memory than its limit of 1Gi. " +
				"Raise " + store},
		"without a limit": {true, "", program(end(137, "OOMKilled", "x")), "the program ended with exit code 137 " +
			"(OOMKilled): its container backup has no limit, and its host ran out of memory. Raise " +
			"spec.resources.requests.memory of the GaleraCluster shop. It wrote last: x"},
		"for another reason": {true, "1Gi", program(end(137, "Error", "x")),
			"the program ended with exit code 137 (Error): x"},
		"it failed by itself": {true, "1Gi", program(end(1, "Error", `{"error":"no"}`)), "no"},
	} {
		j := &batchv1.Job{}
		j.Labels = map[string]string{v1alpha1.LabelCluster: "shop"}
		j.Annotations = map[string]string{v1alpha1.AnnotationStoreLocation: "{}"}
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		if strings.HasSuffix(name, "well") {
			j.Status.Conditions[0].Type = batchv1.JobComplete
		}
		if c.fills {
			j.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: job.ContainerOpen}}
		}
		p := corev1.Pod{Status: c.status, Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "injected"}, {Name: job.ContainerOpen}, {Name: job.ContainerFetch}},
			Containers:     []corev1.Container{{Name: job.Container}}}}
		if c.limit != "" {
			limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.limit)}
			p.Spec.InitContainers[1].Resources.Limits, p.Spec.InitContainers[2].Resources.Limits = limits, limits
			p.Spec.Containers[0].Resources.Limits = limits
			p.Spec.InitContainers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("9Gi")}
		}
		if got := judge(j, []corev1.Pod{p}, time.Now()).Result.Error; got != c.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, c.want)
		}
	}
}
