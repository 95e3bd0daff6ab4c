package loading

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
)

// maxGoing is how long a pod may take to go, in addition to its grace period.
const maxGoing = 5 * time.Minute

// Predecessor is what a restore into a database waits for, the zero value for nothing: the Jobs and pods of earlier
// restores into it. A pod that has compared its tables gives them their names at any moment, and next to those of
// another backup they would be a database that never was. stuck reports whether a person has to see to it. It is pure.
func Predecessor(o *v1alpha1.GaleraRestore, jobs []batchv1.Job, pods []corev1.Pod, now time.Time) (
	p restoration.Problem, stuck bool) {
	own := map[types.UID]bool{}
	for i := range jobs {
		j := &jobs[i]
		switch {
		case metav1.IsControlledBy(j, o):
			own[j.UID] = true
		case !restoration.Ended(j):
			p = waitsFor("Job", j.Name, o)
		}
	}
	for i := range pods {
		pod := &pods[i]
		of := metav1.GetControllerOf(pod)
		if of != nil && own[of.UID] || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		p = waitsFor("pod", pod.Name, o)
		if at := pod.DeletionTimestamp; at != nil && now.Sub(at.Time) >= maxGoing {
			p.Message += fmt.Sprintf(". It was deleted at %s, and its host does not confirm that it has ended: once the host "+
				"is certainly off, delete the pod with --force", at.UTC().Format(time.RFC3339))
			return p, true
		}
	}
	return p, false
}

func waitsFor(kind, name string, o *v1alpha1.GaleraRestore) restoration.Problem {
	return restoration.Problem{Reason: v1alpha1.ReasonAccessPreparing, Message: fmt.Sprintf(
		"waiting for the %s %s of an earlier restore into the database %s to end", kind, name, o.TargetDatabase())}
}
