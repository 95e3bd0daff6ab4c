package restoring

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
)

// credentials checks whether the Secrets are there; what they hold only the Jobs see.
func (r *Reconciler) credentials(ctx context.Context, c *v1alpha1.GaleraCluster) (p restoration.Problem, err error) {
	from := c.Spec.BootstrapFrom.External
	names := map[string]string{"credentialsSecretRef": from.CredentialsSecretRef.Name}
	if from.TLS != nil {
		names["tls.caSecretRef"] = from.TLS.CASecretRef.Name
	}
	for _, field := range []string{"credentialsSecretRef", "tls.caSecretRef"} {
		name, named := names[field]
		if !named {
			continue
		}
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err = r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
		if apierrors.IsNotFound(err) {
			return problem(v1alpha1.ReasonCredentialsMissing,
				"spec.bootstrapFrom.external.%s names the Secret %q, which does not exist: create it", field, name), nil
		}
		if err != nil {
			return p, err
		}
		if of := secret.Labels[v1alpha1.LabelCluster]; of != "" {
			return problem(v1alpha1.ReasonCredentialsMissing, "the Secret %q belongs to the cluster %q: "+
				"spec.bootstrapFrom.external.%s takes one of your own", name, of, field), nil
		}
	}
	return p, nil
}
