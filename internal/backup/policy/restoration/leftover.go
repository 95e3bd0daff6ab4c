package restoration

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// Leftover returns the Jobs that are not needed any more, and the members whose volume one of these may still fill. It
// is pure.
func Leftover(c *v1alpha1.GaleraCluster, all []batchv1.Job) (remove []*batchv1.Job, busy map[string]bool) {
	s := c.Status.Restore
	busy = map[string]bool{}
	var members []string
	for i := range int(c.Spec.Replicas) {
		members = append(members, resources.PodName(c, i))
	}
	for i := range all {
		j := &all[i]
		member := j.Labels[v1alpha1.LabelMember]
		if member == "" || !metav1.IsControlledBy(j, c) {
			continue
		}
		if j.Name == job.RestoreNameOf(c, member) && s.Phase == v1alpha1.RestoreRestoring &&
			!slices.Contains(s.Restored, member) && slices.Contains(members, member) {
			continue
		}
		remove = append(remove, j)
		if !Ended(j) {
			busy[member] = true
		}
	}
	return remove, busy
}

// Ended reports whether no pod of a Job runs any more.
func Ended(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}
