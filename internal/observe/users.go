package observe

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// certified says that GaleraUsers have certificates for a cluster. It reads nothing after an error.
func (r Readers) certified(ctx context.Context, c *v1alpha1.GaleraCluster, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	var users v1alpha1.GaleraUserList
	if err := r.Cached.List(ctx, &users, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	for i := range users.Items {
		u := &users.Items[i]
		namespace, name := u.Cluster()
		if u.Spec.Require == v1alpha1.RequireX509 && u.DeletionTimestamp == nil && namespace == c.Namespace && name == c.Name {
			return true, nil
		}
	}
	return false, nil
}
