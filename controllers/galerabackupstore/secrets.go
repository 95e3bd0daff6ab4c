package galerabackupstore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// refused says what is wrong with the objects that a store names, "" for nothing. Credentials go to the endpoint that the store names, too:
// a Secret of a cluster is none of them.
func (r *Reconciler) refused(ctx context.Context, s *v1alpha1.GaleraBackupStore) (string, error) {
	if v := s.Spec.Volume; v != nil {
		return r.look(ctx, s, "PersistentVolumeClaim", v.ClaimName)
	}
	if name := s.Spec.CredentialsSecret(); name != "" {
		if why, err := r.look(ctx, s, "Secret", name); why != "" || err != nil {
			return why, err
		}
	}
	switch ca := s.Spec.CA(); {
	case ca == nil:
		return "", nil
	case ca.SecretName != "":
		return r.look(ctx, s, "Secret", ca.SecretName)
	default:
		return r.look(ctx, s, "ConfigMap", ca.ConfigMapName)
	}
}

func (r *Reconciler) look(ctx context.Context, s *v1alpha1.GaleraBackupStore, kind, name string) (string, error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Version: corev1.SchemeGroupVersion.Version, Kind: kind})
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no %s %q in this namespace: create it", kind, name), nil
	case err != nil:
		return "", err
	case o.Labels[v1alpha1.LabelCluster] != "" && kind != "ConfigMap":
		return fmt.Sprintf("the %s %q belongs to the cluster %q: name another one", kind, name, o.Labels[v1alpha1.LabelCluster]), nil
	}
	return "", nil
}
