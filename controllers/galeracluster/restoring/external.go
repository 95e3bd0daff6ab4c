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
func (r *Reconciler) credentials(ctx context.Context, c *v1alpha1.GaleraCluster) (restoration.Problem, error) {
	from := c.Spec.BootstrapFrom.External
	return Credentials(ctx, r.Live, c.Namespace, from.CredentialsSecretRef, from.TLS, "spec.bootstrapFrom.external")
}

// Credentials checks whether the Secrets are there that a Job connects to another server with.
func Credentials(ctx context.Context, live client.Reader, namespace string, credentials v1alpha1.LocalName,
	tls *v1alpha1.ExternalTLS, at string) (p restoration.Problem, err error) {
	names := map[string]string{"credentialsSecretRef": credentials.Name}
	if tls != nil {
		names["tls.caSecretRef"] = tls.CASecretRef.Name
	}
	for _, field := range []string{"credentialsSecretRef", "tls.caSecretRef"} {
		name, named := names[field]
		if !named {
			continue
		}
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err = live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
		if apierrors.IsNotFound(err) {
			return problem(v1alpha1.ReasonCredentialsMissing, "%s.%s names the Secret %q, which does not exist: create it", at,
				field, name), nil
		}
		if err != nil {
			return p, err
		}
		if of := secret.Labels[v1alpha1.LabelCluster]; of != "" {
			return problem(v1alpha1.ReasonCredentialsMissing, "the Secret %q belongs to the cluster %q: "+
				"%s.%s takes one of your own", name, of, at, field), nil
		}
	}
	return p, nil
}
