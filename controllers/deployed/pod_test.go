package deployed

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOwned: of the pods with the archiver's labels only those of its Deployment are asked.
func TestOwned(t *testing.T) {
	controller := true
	pod := func(kind, owner, hash string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pod-template-hash": hash}}}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &controller}}
		}
		return p
	}
	for i, tc := range []struct {
		pod  *corev1.Pod
		want bool
	}{
		{pod("ReplicaSet", "shop-archiver-7d4", "7d4"), true},
		{pod("", "", "7d4"), false},
		{pod("ReplicaSet", "other-archiver-7d4", "7d4"), false},
		{pod("ReplicaSet", "shop-archiver-7d4", "8e5"), false},
		{pod("ReplicaSet", "shop-archiver-", ""), false},
		{pod("Job", "shop-archiver-7d4", "7d4"), false},
	} {
		if got := owned(tc.pod, "shop-archiver"); got != tc.want {
			t.Error(fmt.Sprint(i), got)
		}
	}
}

// TestWhy: an archiver that needs more memory is named with what to do.
func TestWhy(t *testing.T) {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{Name: "archiver",
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(
			"512Mi")}}}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "archiver",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "m"}}}}
	if got := failure(p); got != "CrashLoopBackOff m" {
		t.Error(got)
	}
	p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled"}
	if got := failure(p); !strings.Contains(got, "limit of 512Mi") || !strings.Contains(got, "spec.pods.resources") {
		t.Error(got)
	}
}
