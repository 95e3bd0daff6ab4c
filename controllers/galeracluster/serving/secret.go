package serving

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// A pair is valid for pairTime, and replaced when less than renewBefore of that is left. A channel that connects while
// kubelet renews the files of one side is refused, and connects again.
const (
	pairTime    = 365 * 24 * time.Hour
	renewBefore = pairTime / 3
)

// secret is the Secret as it is to be: with the password and the pair of the one that is there, as long as they will
// do.
func (r *Reconciler) secret(ctx context.Context, c *v1alpha1.GaleraCluster) (*corev1.Secret, error) {
	have := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.SourceName(c)}, have)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if apierrors.IsNotFound(err) || !metav1.IsControlledBy(have, c) {
		have = &corev1.Secret{} // one of another owner is reported when it is applied
	}
	password, cert, key := string(have.Data[task.SourcePassword]), have.Data[corev1.TLSCertKey],
		have.Data[corev1.TLSPrivateKeyKey]
	if password == "" {
		password = rand.Text()
	}
	if !usable(cert, key, have.Data[task.CA], c.Source().Host, r.Now()) {
		cert, key, err = pki.SelfSignServer(r.Now().Add(-time.Hour), r.Now().Add(pairTime), c.Source().Host)
		if err != nil {
			return nil, err
		}
	}
	return job.SourceSecret(c, password, cert, key), nil
}

// usable reports whether a pair is that of a name, and will be for a while.
func usable(cert, key, ca []byte, name string, now time.Time) bool {
	pair, err := tls.X509KeyPair(cert, key)
	return err == nil && bytes.Equal(cert, ca) && pair.Leaf.VerifyHostname(name) == nil &&
		!now.Before(pair.Leaf.NotBefore) && now.Before(pair.Leaf.NotAfter.Add(-renewBefore))
}
