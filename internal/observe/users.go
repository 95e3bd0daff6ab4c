package observe

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// certified says that GaleraUsers have certificates for a cluster. One from another namespace counts once it was looked at and admitted:
// until then it has no say in the cluster. It reads nothing after an error.
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
		if u.Spec.Require == v1alpha1.RequireX509 && u.DeletionTimestamp == nil && namespace == c.Namespace && name == c.Name && admitted(u, c) {
			return true, nil
		}
	}
	return false, nil
}

func admitted(u *v1alpha1.GaleraUser, c *v1alpha1.GaleraCluster) bool {
	ready := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionReady)
	return u.Namespace == c.Namespace || ready != nil && ready.Reason != v1alpha1.ReasonNamespaceRefused
}
