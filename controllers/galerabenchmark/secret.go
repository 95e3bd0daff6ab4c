package galerabenchmark

import (
	"context"
	"strings"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/bench/job"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// clientSecrets are the client certificates of benchmarks, with their private keys.
type clientSecrets struct {
	client.Client
	Live client.Reader
}

func (r *Reconciler) clientSecrets() clientSecrets { return clientSecrets{r.Client, r.Live} }

// keepClientSecret keeps the client's private key for as long as the benchmark measures.
func (keys clientSecrets) keepClientSecret(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts,
	d plan.Decision) error {
	if _, over := d.Action.(plan.Finish); over {
		return keys.removeClientSecret(ctx, b)
	}
	if seen.Job != nil {
		return keys.ownClientSecret(ctx, b)
	}
	return nil
}

// ownClientSecret makes the client's private key go with the benchmark, whenever that is deleted: cert-manager writes
// it without an owner.
func (keys clientSecrets) ownClientSecret(ctx context.Context, b *v1alpha1.GaleraBenchmark) error {
	if job.Suffix(b) == "" {
		return nil
	}
	have, err := keys.clientSecret(ctx, b)
	if have == nil || err != nil || len(have.OwnerReferences) > 0 {
		return err
	}
	ref := metav1.NewControllerRef(b, v1alpha1.GroupVersion.WithKind("GaleraBenchmark"))
	ref.Controller, ref.BlockOwnerDeletion = nil, nil // cert-manager may be configured to be the controller
	owned := have.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{*ref}
	return client.IgnoreNotFound(keys.Patch(ctx, owned,
		client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})))
}

// removeClientSecret removes the client's certificate and its private key: a benchmark that has ended may be kept for
// its figures. The Certificate goes first, or the Secret would come back.
func (keys clientSecrets) removeClientSecret(ctx context.Context, b *v1alpha1.GaleraBenchmark) error {
	if job.Suffix(b) == "" {
		return nil // nothing was made
	}
	certificate := &cmv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.RunnerName(b)}}
	if err := apply.Remove(ctx, keys.Client, keys.Live, b.UID, certificate); err != nil &&
		!observe.WithoutCertManager(err) {
		return err
	}
	account := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: job.AccountName(b)}}
	if err := apply.Remove(ctx, keys.Client, keys.Live, b.UID, account); err != nil {
		return err
	}
	have, err := keys.clientSecret(ctx, b)
	if have == nil || err != nil {
		return err
	}
	return client.IgnoreNotFound(keys.Delete(ctx, have, client.Preconditions{UID: &have.UID}))
}

// clientSecret is what cert-manager made of the benchmark's Certificate, nil when there is none.
func (keys clientSecrets) clientSecret(ctx context.Context, b *v1alpha1.GaleraBenchmark) (*corev1.Secret, error) {
	have := &corev1.Secret{}
	err := keys.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: job.RunnerName(b)}, have)
	if apierrors.IsNotFound(err) || err == nil && have.Labels[v1alpha1.LabelBenchmarkUID] != string(b.UID) {
		return nil, nil
	}
	return have, err
}

// lateResultTimeout is what cert-manager may take to write a Secret whose Certificate is gone.
const lateResultTimeout = 10 * time.Second

// removeLeftSecret removes the client's private key after a benchmark that was deleted before the key had an owner. It
// returns when to reconcile again.
func (keys clientSecrets) removeLeftSecret(ctx context.Context, key client.ObjectKey) (again time.Duration, err error) {
	of := []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.LabelBenchmark: key.Name}}
	certificates, secrets := &cmv1.CertificateList{}, &corev1.SecretList{}
	if err := keys.Live.List(ctx, certificates, of...); err != nil && !observe.WithoutCertManager(err) {
		return 0, err
	}
	for i := range certificates.Items {
		c := &certificates.Items[i]
		owner := metav1.GetControllerOf(c)
		if owner == nil || owner.Kind != "GaleraBenchmark" || owner.Name != key.Name || !runners(key.Name, c) {
			continue
		}
		again = lateResultTimeout
		if err := client.IgnoreNotFound(keys.Delete(ctx, c, client.Preconditions{UID: &c.UID})); err != nil {
			return again, err
		}
	}
	if err := keys.Live.List(ctx, secrets, of...); err != nil {
		return again, err
	}
	for i := range secrets.Items {
		s := &secrets.Items[i]
		if s.Labels[v1alpha1.LabelBenchmarkUID] == "" || metav1.GetControllerOf(s) != nil || !runners(key.Name, s) {
			continue
		}
		if err := client.IgnoreNotFound(keys.Delete(ctx, s, client.Preconditions{UID: &s.UID})); err != nil {
			return again, err
		}
	}
	return again, nil
}

// runners reports whether an object has one of RunnerName's names.
func runners(benchmark string, o client.Object) bool {
	suffix, is := strings.CutPrefix(o.GetName(), job.RunnerPrefix(benchmark))
	return is && len(suffix) == suffixLength
}
