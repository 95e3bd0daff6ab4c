package restoring

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// tidyJobs removes the Jobs that have filled a volume, or are not to fill it any more: their pods hold the members'
// claims, also when they have ended. busy are the members of which one may still be at work.
func (r *Reconciler) tidyJobs(ctx context.Context, c *v1alpha1.GaleraCluster) (busy map[string]bool, err error) {
	if c.Status.Restore == nil {
		return nil, nil
	}
	var all batchv1.JobList
	if err := r.List(ctx, &all, client.InNamespace(c.Namespace), client.MatchingLabels(job.RestoreLabels(c))); err != nil {
		return nil, err
	}
	remove, busy := restoration.Leftover(c, all.Items)
	for _, j := range remove {
		if j.DeletionTimestamp != nil {
			continue
		}
		// It stays to be seen until its pods are gone.
		if err := ownership.Remove(ctx, r.Client, r.Live, c.UID, j,
			client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			return nil, err
		}
	}
	return busy, nil
}
