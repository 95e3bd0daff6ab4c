package publish

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// ownSecrets makes the Secrets the operator does not apply itself go with the cluster when its data
// do, and stay when they stay.
func (pub Publisher) ownSecrets(ctx context.Context, f observe.Facts) error {
	var errs []error
	for _, name := range resources.SecretNames(f.Cluster, pub.Options, f.Users) {
		have := &corev1.Secret{}
		err := pub.Readers.Cached.Get(ctx, client.ObjectKey{Namespace: f.Cluster.Namespace, Name: name}, have)
		if apierrors.IsNotFound(err) {
			continue
		}
		refs, differ := resources.Owned(f.Cluster, have)
		if err != nil || !differ {
			errs = append(errs, err)
			continue
		}
		if len(refs) > len(have.OwnerReferences) {
			if err := ownership.Living(ctx, pub.Readers.Live, f.Cluster.Namespace, refs[len(refs)-1]); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		changed := have.DeepCopy()
		changed.OwnerReferences = refs
		err = pub.Patch(ctx, changed, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}))
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}
