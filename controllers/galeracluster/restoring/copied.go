package restoring

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/calls"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/pki"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;delete

// pairTime is for how long the pair of a copy is valid: longer than any copy takes.
const pairTime = 365 * 24 * time.Hour

// copied asks the Job that copies another server how far it is, nil while it has not answered: the copy goes on in any
// case, and the pass with it.
func (r *Reconciler) copied(ctx context.Context, c *v1alpha1.GaleraCluster, address string) (*task.Copied, error) {
	if address == "" {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: job.CopiedName(c)}, secret)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	key := client.ObjectKeyFromObject(c)
	got, err := r.Calls.Ask(ctx, calls.By{Cluster: key, Object: key}, address, string(secret.Data[corev1.TLSCertKey]))
	if err != nil {
		return nil, nil //nolint:nilerr // it is asked again, and what was known before says when that was
	}
	return &got, nil
}

// pair has the Secret that the Job shows its progress with. The Job needs none to copy.
func (r *Reconciler) pair(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	have, err := ownership.Theirs(ctx, r.Client, r.Live, c.UID, job.Copied(c, nil, nil))
	if err != nil || have != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	cert, key, err := pki.SelfSign(&x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "copied"},
		NotBefore: r.Now().Add(-time.Hour), NotAfter: r.Now().Add(pairTime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return err
	}
	return r.Create(ctx, job.Copied(c, cert, key), client.FieldOwner(ownership.FieldOwner))
}

// tidyPair removes it when nothing is copied any more.
func (r *Reconciler) tidyPair(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	s := c.Status.Restore
	if s == nil || s.External == nil || s.Phase == v1alpha1.RestoreRestoring || s.Phase == v1alpha1.RestoreFinding {
		return nil
	}
	secret := job.Copied(c, nil, nil)
	if err := r.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{}); err != nil {
		return client.IgnoreNotFound(err)
	}
	return ownership.Remove(ctx, r.Client, r.Live, c.UID, secret)
}
