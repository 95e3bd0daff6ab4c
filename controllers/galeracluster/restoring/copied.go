package restoring

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// Progress asks Jobs that copy another server, at their addresses, how far they are. The question is their certificate,
// in PEM.
type Progress = calls.Calls[string, string, task.Copied]

// Copied asks one of them, nil while it has not answered: the copy goes on in any case, and the pass with it. secret
// has its pair.
func Copied(ctx context.Context, live client.Reader, ask *Progress, by calls.By, secret *corev1.Secret,
	address string) (*task.Copied, error) {
	if address == "" {
		return nil, nil
	}
	have := &corev1.Secret{}
	if err := live.Get(ctx, client.ObjectKeyFromObject(secret), have); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	got, err := ask.Ask(ctx, by, address, string(have.Data[corev1.TLSCertKey]))
	if err != nil {
		return nil, nil //nolint:nilerr // it is asked again, and what was known before says when that was
	}
	return &got, nil
}

func (r *Reconciler) copied(ctx context.Context, c *v1alpha1.GaleraCluster, address string) (*task.Copied, error) {
	key := client.ObjectKeyFromObject(c)
	return Copied(ctx, r.Live, r.Calls, calls.By{Cluster: key, Object: key}, job.Copied(c), address)
}

// pair has the Secret that the Job shows its progress with. The Job needs none to copy.
func (r *Reconciler) pair(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	return KeepPair(ctx, r.Client, r.Live, c.UID, job.Copied(c), r.Now())
}

// KeepPair has the Secret there, with a pair of certificate and key, that a Job shows its progress with.
func KeepPair(ctx context.Context, kube client.Client, live client.Reader, owner types.UID, secret *corev1.Secret,
	now time.Time) error {
	have, err := ownership.Theirs(ctx, kube, live, owner, secret)
	if err != nil || have != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	cert, key, err := pki.SelfSign(&x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "copied"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(pairTime), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	if err != nil {
		return err
	}
	secret.Data = map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key}
	return kube.Create(ctx, secret, client.FieldOwner(ownership.FieldOwner))
}

// tidyPair removes it when nothing is copied any more.
func (r *Reconciler) tidyPair(ctx context.Context, c *v1alpha1.GaleraCluster) error {
	s := c.Status.Restore
	if s == nil || s.External == nil || s.Phase == v1alpha1.RestoreRestoring || s.Phase == v1alpha1.RestoreFinding {
		return nil
	}
	secret := job.Copied(c)
	if err := r.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{}); err != nil {
		return client.IgnoreNotFound(err)
	}
	return ownership.Remove(ctx, r.Client, r.Live, c.UID, secret)
}
