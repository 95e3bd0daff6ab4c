package resources

import (
	"slices"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// SecretNames returns the names of the Secrets that are not applied as a whole: root's password,
// and those cert-manager writes for the cluster's Certificates, to which it gives no owner.
func SecretNames(c *v1alpha1.GaleraCluster, opts Options, users bool) []string {
	names := []string{RootSecretName(c)}
	for _, o := range Certificates(c, opts, users) {
		if cert, ok := o.(*cmv1.Certificate); ok {
			names = append(names, cert.Spec.SecretName)
		}
	}
	return names
}

// Owned returns the owner references such a Secret should have, and whether they differ: it goes with
// the cluster only when the data do. A Secret that the user made is never owned.
func Owned(c *v1alpha1.GaleraCluster, s *corev1.Secret) (refs []metav1.OwnerReference, differ bool) {
	ours := func(r metav1.OwnerReference) bool { return r.UID == c.UID }
	has := slices.ContainsFunc(s.OwnerReferences, ours)
	wants := !retains(c) && s.Labels[labelManagedBy] == managedBy
	switch {
	case has && !wants:
		return slices.DeleteFunc(slices.Clone(s.OwnerReferences), ours), true
	case wants && !has:
		ref := metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("GaleraCluster"))
		ref.Controller, ref.BlockOwnerDeletion = nil, nil // cert-manager may be asked to be the controller
		return append(slices.Clone(s.OwnerReferences), *ref), true
	}
	return s.OwnerReferences, false
}
