package archiving

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// lease has the pods there that renew the cluster's lease, if it wants one. why is what keeps the store from having it.
func (r *Reconciler) lease(ctx context.Context, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) (why string,
	err error) {
	switch {
	case !c.RenewsWriteLease():
		return "", r.endLease(ctx, c)
	case s.Spec.SingleWriter || s.Spec.Volume != nil: // pods that are there stay: without them nodes refuse writes
		return "there is no write lease: spec.backup.pointInTime.writeLease needs a store that is no volume, and that " +
			"has no singleWriter, so that one cluster can take over, and is found at once", nil
	}
	d, err := job.Lease(c, s, r.Options, r.Jobs)
	if err != nil {
		return "", err
	}
	return "", r.Objects.Apply(ctx, c.UID, d)
}

// endLease removes them.
func (r *Reconciler) endLease(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	d := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: c.Namespace, Name: resources.LeaseName(c)}
	if err := r.Get(ctx, key, d); err != nil {
		return client.IgnoreNotFound(err)
	}
	return ownership.Remove(ctx, r.Client, r.Live, c.UID, d)
}
