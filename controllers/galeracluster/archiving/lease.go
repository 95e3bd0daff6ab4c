package archiving

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	return "", errors.Join(r.Objects.Apply(ctx, c.UID, d), r.Objects.Apply(ctx, c.UID, job.LeaseBudget(c)))
}

// endLease removes them.
func (r *Reconciler) endLease(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	key := client.ObjectKey{Namespace: c.Namespace, Name: resources.LeaseName(c)}
	var errs []error
	for _, o := range []client.Object{&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}} {
		err := r.Get(ctx, key, o)
		if err == nil {
			err = ownership.Remove(ctx, r.Client, r.Live, c.UID, o)
		}
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}
