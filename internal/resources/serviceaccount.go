package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// ServiceAccount returns the account the pods run as: no role is bound to it and no token of it
// is mounted, so that the cluster does not share the namespace's default account.
func ServiceAccount(c *v1alpha1.GaleraCluster) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   ownedMeta(c, ServiceAccountName(c)),
		AutomountServiceAccountToken: new(false),
	}
}
