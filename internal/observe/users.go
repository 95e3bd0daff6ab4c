package observe

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/undecodable"
)

// certified reports whether GaleraUsers have certificates for a cluster. One from another namespace counts once it was
// read and admitted: until then it does not affect the cluster. While a GaleraUser cannot be decoded, the clients'
// CA that there is counts as needed. It reads nothing after an error.
func (r Readers) certified(ctx context.Context, c *v1alpha1.GaleraCluster, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	var users v1alpha1.GaleraUserList
	var unknown *undecodable.Error
	err = r.Cached.List(ctx, &users, client.UnsafeDisableDeepCopy, undecodable.Complete{})
	if errors.As(err, &unknown) {
		err = r.Cached.List(ctx, &users, client.UnsafeDisableDeepCopy)
	}
	if err != nil {
		return false, err
	}
	for i := range users.Items {
		u := &users.Items[i]
		namespace, name := u.Cluster()
		if u.Spec.Require == v1alpha1.RequireX509 && u.DeletionTimestamp == nil && namespace == c.Namespace &&
			name == c.Name && admitted(u, c) {
			return true, nil
		}
	}
	if unknown == nil {
		return false, nil
	}
	err = r.Cached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.ClientCAPairName(c)},
		&corev1.Secret{})
	return err == nil, client.IgnoreNotFound(err)
}

func admitted(u *v1alpha1.GaleraUser, c *v1alpha1.GaleraCluster) bool {
	ready := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionReady)
	return u.Namespace == c.Namespace || ready != nil && ready.Reason != v1alpha1.ReasonNamespaceNotAllowed
}
