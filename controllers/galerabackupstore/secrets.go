package galerabackupstore

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// refused returns what is wrong with the objects that a store names, "" for nothing. Credentials go to the endpoint
// that the store names, too: a Secret of a cluster is none of them.
func (r *Reconciler) refused(ctx context.Context, s *v1alpha1.GaleraBackupStore) (string, error) {
	if why, err := r.account(ctx, s); why != "" || err != nil {
		return why, err
	}
	if v := s.Spec.Volume; v != nil {
		return r.checkReference(ctx, s, "PersistentVolumeClaim", v.ClaimName)
	}
	name := s.Spec.CredentialsSecret()
	if name == "" && s.Spec.ServiceAccountName == "" {
		return "name credentials, or a serviceAccountName that has an identity in the cloud: without both, the Jobs would " +
			"use the identity of the host they run on", nil
	}
	if name != "" {
		if why, err := r.checkReference(ctx, s, "Secret", name); why != "" || err != nil {
			return why, err
		}
	}
	switch ca := s.Spec.CA(); {
	case ca == nil:
		return "", nil
	case ca.SecretName != "":
		return r.checkReference(ctx, s, "Secret", ca.SecretName)
	default:
		return r.checkReference(ctx, s, "ConfigMap", ca.ConfigMapName)
	}
}

// account returns what is wrong with the ServiceAccount that the Jobs would run under, "" for nothing. A store that
// names none gets one.
func (r *Reconciler) account(ctx context.Context, s *v1alpha1.GaleraBackupStore) (string, error) {
	name := job.AccountName(s)
	switch {
	case s.Spec.ServiceAccountName == "":
		err := ownership.Keep(ctx, r.Client, r.Live, s.UID, job.Account(s))
		if foreign := (ownership.ErrForeign{}); errors.As(err, &foreign) {
			return fmt.Sprintf(
				"the ServiceAccount %q belongs to another owner: delete it, or name it in spec.serviceAccountName to have the "+
					"Jobs run under it", name), nil
		}
		return "", err
	case !job.AccountAllowed(name, r.Jobs):
		return fmt.Sprintf(
			"spec.serviceAccountName is %q, and Jobs run only under ServiceAccounts whose names end in %s, so that a store "+
				"grants no one the rights of another one: "+
				"use a ServiceAccount of such a name, or ask the administrator to allow this one (--allow-service-accounts)", name,
			resources.AccountSuffix), nil
	}
	return r.checkReference(ctx, s, "ServiceAccount", name)
}

func (r *Reconciler) checkReference(ctx context.Context, s *v1alpha1.GaleraBackupStore, kind, name string) (string,
	error) {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Version: corev1.SchemeGroupVersion.Version, Kind: kind})
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no %s %q in this namespace: create it", kind, name), nil
	case err != nil:
		return "", err
	case o.Labels[v1alpha1.LabelCluster] != "" && kind != "ConfigMap" && kind != "ServiceAccount":
		return fmt.Sprintf("the %s %q belongs to the cluster %q: name another one", kind, name,
			o.Labels[v1alpha1.LabelCluster]), nil
	}
	return "", nil
}
