package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestFileSystemResizePending: storage that resizes a file system only when the volume is mounted again needs a person;
// storage that does so in use needs none, and neither hides nor excuses a full volume for ever.
func TestFileSystemResizePending(t *testing.T) {
	for name, c := range map[string]struct {
		pending time.Duration // 0: not pending
		full    bool
		reason  string
		blocked bool
	}{
		"being expanded":                  {0, false, v1alpha1.ReasonVolumeExpanding, false},
		"being expanded, and full":        {0, true, v1alpha1.ReasonVolumeExpanding, false},
		"kubelet is about to resize":      {time.Minute, true, v1alpha1.ReasonVolumeExpanding, false},
		"waits for a new mount":           {time.Hour, false, v1alpha1.ReasonVolumeExpanding, true},
		"waits for a new mount, and full": {time.Hour, true, v1alpha1.ReasonDiskFull, true},
	} {
		in := healthy()
		in.cluster().Name, in.cluster().Namespace, in.cluster().Status.Replicas = "n", "demo", 3
		in.cluster().Spec.Storage.Size = resource.MustParse("2Gi")
		p := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-n-1"}}
		p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		p.Status.Phase, p.Status.Capacity = corev1.ClaimBound,
			corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		if c.pending > 0 {
			p.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
				{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(in.Now.Add(-c.pending))}}
		}
		in.Facts.Claims = map[string]*corev1.PersistentVolumeClaim{p.Name: p}
		if c.full {
			in.Snapshot.Members[1].Failure = &galera.Failure{Reason: agentapi.FailureDiskFull, Message: "no space left"}
		}
		got := firstProblem(in)
		if got == nil || got.Reason != c.reason || got.Blocked != c.blocked || strings.Contains(got.Message,
			"kubectl delete pod n-1 -n demo") != c.blocked {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestClaimHeld: a node that waits for its deleted claim is reported with the pod that holds it, and what to do.
func TestClaimHeld(t *testing.T) {
	for name, c := range map[string]struct {
		since   time.Duration
		holders []observe.Holder
		says    string
		command string
		blocked bool
		change  func(*Input)
	}{
		"just deleted": {time.Minute, []observe.Holder{{Pod: "debug", Phase: corev1.PodRunning}}, "The pod debug (Running)",
			"",
			false, nil},
		"a pod holds it": {time.Hour, []observe.Holder{{Pod: "debug", Phase: corev1.PodRunning}}, "If its work is not needed",
			"kubectl delete pod debug -n demo", true, nil},
		"while no node serves": {time.Hour, []observe.Holder{{Pod: "debug", Phase: corev1.PodRunning}},
			"save its data before", "", true, func(in *Input) {
				for i := range in.Snapshot.Members {
					in.Snapshot.Members[i].Server = nil
				}
			}},
		"a Job that has ended": {time.Hour, []observe.Holder{{Pod: "r-x", Phase: corev1.PodSucceeded, Job: "r"}, {Pod: "z"}},
			"(Succeeded) mounts it, and 1 other. It has ended", "kubectl delete job r -n demo", true, nil},
		"none does": {time.Hour, nil, "waits for its finalizers: kubernetes.io/pvc-protection", "", true, nil},
		"who does is not known": {time.Hour, nil, "The pods that mount it could not be read", "", true, func(in *Input) {
			in.Facts.Unread = errors.New("the namespace has more than 5000")
		}},
	} {
		in := healthy()
		in.cluster().Name, in.cluster().Namespace, in.cluster().Status.Replicas = "n", "demo", 3
		p := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-n-1", Namespace: "demo",
			DeletionTimestamp: new(metav1.NewTime(in.Now.Add(-c.since))), Finalizers: []string{"kubernetes.io/pvc-protection"}}}
		in.Facts.Claims = map[string]*corev1.PersistentVolumeClaim{p.Name: p}
		in.Facts.Holders = map[string][]observe.Holder{p.Name: c.holders}
		if c.change != nil {
			c.change(&in)
		}
		got := firstProblem(in)
		if got == nil || got.Reason != v1alpha1.ReasonClaimHeld || got.Blocked != c.blocked || got.Command != c.command ||
			!strings.Contains(got.Message, c.says) || !strings.Contains(got.Message, c.command) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
