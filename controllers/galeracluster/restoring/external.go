package restoring

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
)

// external finds the store with the other server's backup, nil for none, and checks whether the Secrets are there that
// the server is connected to with.
func (r *Reconciler) external(ctx context.Context, c *v1alpha1.GaleraCluster) (s *v1alpha1.GaleraBackupStore,
	p restoration.Problem, err error) {
	if b := c.FromBackup(); b != nil {
		s, p, err = storeOf(ctx, r.Client, c.Namespace, b.StoreRef.Name, "spec.bootstrapFrom.external.backup.storeRef")
	}
	if p.Reason == "" && err == nil && c.Spec.BootstrapFrom.External.Host != "" {
		p, err = r.credentials(ctx, c)
	}
	return s, p, err
}

func (r *Reconciler) inspecting(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) (*batchv1.Job, error) {
	if c.FromBackup() != nil {
		return job.InspectBackup(c, s, r.Options, r.Jobs)
	}
	return job.Inspect(c, r.Options, r.Jobs)
}

func (r *Reconciler) importing(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) (*batchv1.Job, error) {
	if c.FromBackup() != nil {
		return job.ImportBackup(c, s, r.Options, r.Jobs)
	}
	return job.Import(c, r.Options, r.Jobs)
}

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
