package observe

import (
	"context"
	"sync"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// issuerInterval is the interval at which the CA of a user's issuer is read: the issuer carries no label of
// the operator, so a change sends no event.
const issuerInterval = 20 * time.Second

// SigningCAs remembers for a while with which CA issuers sign.
type SigningCAs struct {
	mu   sync.Mutex
	seen map[client.ObjectKey]signing
}

type signing struct {
	at  time.Time
	crt []byte
}

// signingCA finds the certificate of the CA the cluster's issuer signs with: of the private CA, or of an
// Issuer of the kind CA in the cluster's namespace. Of others it is known only when they have issued.
func (r Readers) signingCA(ctx context.Context, f *Facts) error {
	ref := f.Cluster.Spec.TLS.IssuerRef
	if ref == nil {
		f.SigningCA, _, _ = PairOf(f.CAPair)
		return nil
	}
	if ref.Kind == certmanagerv1.ClusterIssuerKind || f.Issued == nil || r.Signing == nil {
		return nil
	}
	key := client.ObjectKey{Namespace: f.Cluster.Namespace, Name: ref.Name}
	if known, ok := r.Signing.get(key); ok {
		f.SigningCA = known
		return nil
	}
	crt, err := r.issuerCA(ctx, key)
	if err != nil {
		return err
	}
	r.Signing.keep(key, crt)
	f.SigningCA = crt
	return nil
}

func (s *SigningCAs) get(key client.ObjectKey) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.seen[key]
	return known.crt, ok && time.Since(known.at) < issuerInterval
}

func (s *SigningCAs) keep(key client.ObjectKey, crt []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[client.ObjectKey]signing{}
	}
	s.seen[key] = signing{time.Now(), crt}
}

func (r Readers) issuerCA(ctx context.Context, key client.ObjectKey) ([]byte, error) {
	issuer := &certmanagerv1.Issuer{}
	if err := r.Live.Get(ctx, key, issuer); err != nil || issuer.Spec.CA == nil {
		return nil, client.IgnoreNotFound(err)
	}
	pair := &corev1.Secret{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: issuer.Spec.CA.SecretName},
		pair); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return pair.Data[corev1.TLSCertKey], nil
}
