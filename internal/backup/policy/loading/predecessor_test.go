package loading

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// by returns the metadata of an object that another one controls.
func by(kind, owner, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), OwnerReferences: []metav1.OwnerReference{{
		Kind: kind, Name: owner, UID: types.UID("uid-" + owner), Controller: new(true)}}}
}

// TestPredecessor: a restore into a database waits until nothing of an earlier one can name tables there any more.
func TestPredecessor(t *testing.T) {
	r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Name: "next", UID: "uid-next"}}
	r.Spec.Database = &v1alpha1.RestoreDatabase{Name: "shop", As: "shop_before"}
	jobs := func(owner, name string, ends ...batchv1.JobConditionType) []batchv1.Job {
		j := batchv1.Job{ObjectMeta: by("GaleraRestore", owner, name)}
		for _, end := range ends {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: end, Status: corev1.ConditionTrue})
		}
		return []batchv1.Job{j}
	}
	pods := func(owner string, phase corev1.PodPhase, gone time.Duration) []corev1.Pod {
		p := corev1.Pod{ObjectMeta: by("Job", owner, "p"), Status: corev1.PodStatus{Phase: phase}}
		if gone > 0 {
			p.DeletionTimestamp = new(metav1.NewTime(noon.Add(-gone)))
		}
		return []corev1.Pod{p}
	}
	for name, c := range map[string]struct {
		jobs  []batchv1.Job
		pods  []corev1.Pod
		want  string
		stuck bool
	}{
		"nothing":                        {nil, nil, "", false},
		"its own":                        {jobs("next", "j"), pods("j", corev1.PodRunning, 0), "", false},
		"a Job without a pod yet":        {jobs("first", "j"), nil, "the Job j of an earlier restore", false},
		"a Job that has ended":           {jobs("first", "j", batchv1.JobComplete), nil, "", false},
		"a Job that has failed":          {jobs("first", "j", batchv1.JobFailed), pods("j", corev1.PodFailed, 0), "", false},
		"a Job that stops":               {jobs("first", "j", batchv1.JobFailureTarget), nil, "the Job j", false},
		"a pod whose Job is gone":        {nil, pods("j", corev1.PodRunning, 0), "into the database shop_before", false},
		"a pod that is going":            {nil, pods("j", corev1.PodRunning, time.Minute), "the pod p", false},
		"one that has not started":       {nil, pods("j", corev1.PodPending, 0), "the pod p", false},
		"a pod of a lost host":           {nil, pods("j", corev1.PodRunning, maxGoing), "delete the pod with --force", true},
		"one that has ended there":       {nil, pods("j", corev1.PodSucceeded, maxGoing), "", false},
		"its own, of an earlier attempt": {jobs("next", "j2"), pods("j1", corev1.PodRunning, 0), "the pod p", false},
		"a pod of an ended Job": {jobs("first", "j", batchv1.JobFailed), pods("j", corev1.PodRunning, 0), "the pod p",
			false},
	} {
		p, stuck := Predecessor(r, c.jobs, c.pods, noon)
		if (p.Reason == "") != (c.want == "") || !strings.Contains(p.Message, c.want) || stuck != c.stuck {
			t.Errorf("%s: %+v, %v", name, p, stuck)
		}
	}
}
