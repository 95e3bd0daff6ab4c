package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// certManagerInterval is how often it is asked whether cert-manager's kinds exist, while they do not.
	certManagerInterval = 3 * time.Second
	// cacheCheckInterval is the interval of the check whether their objects have been read, readTimeout the wait before
	// a report.
	cacheCheckInterval = 100 * time.Millisecond
	readTimeout        = 30 * time.Second
)

// CertManager knows whether the kinds of cert-manager can be read. They come and go with its CRDs, and a cache waits
// for ever for a kind that does not exist: what does not need them may not wait, too.
type CertManager struct {
	// Mapper knows which kinds exist, and Cache reads their objects.
	Mapper meta.RESTMapper
	Cache  cache.Cache
	// Found is called once, when the kinds can be read: it begins to watch them.
	Found func(kinds ...client.Object) error

	mu      sync.Mutex
	ready   bool
	trouble string
}

// ErrNoCertManager is how a read of cert-manager's kinds ends while they cannot be read. Why is "" while that is not
// known yet.
type ErrNoCertManager struct{ Why string }

// Error states what to do.
func (e ErrNoCertManager) Error() string {
	if e.Why == "" {
		return "checking whether cert-manager is installed"
	}
	return e.Why
}

// WithoutCertManager reports whether the error of an apply comes from the absence of cert-manager's kinds. What is
// applied is made when it is not there, so that "not found" can only mean the kind.
func WithoutCertManager(err error) bool { return kindsMissing(err) || apierrors.IsNotFound(err) }

func certManagerKinds() []client.Object {
	return []client.Object{&certmanagerv1.Certificate{}, &certmanagerv1.Issuer{}}
}

// Run looks until the kinds exist and their objects have been read, and has them watched: not before, as a controller
// that cannot read what it watches ends the process. From then on the cache does all: when the CRDs go, it has no
// objects, and goes on trying.
func (m *CertManager) Run(ctx context.Context) error {
	for !m.exist() {
		if pause(ctx, certManagerInterval); ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
	}
	for begun := time.Now(); !m.read(ctx, time.Since(begun)); {
		if pause(ctx, cacheCheckInterval); ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
	}
	m.set(true, "")
	return m.Found(certManagerKinds()...)
}

// exist reports whether the API server knows the kinds of cert-manager.
func (m *CertManager) exist() bool {
	version := certmanagerv1.SchemeGroupVersion
	for _, kind := range []string{certmanagerv1.CertificateKind, certmanagerv1.IssuerKind} {
		_, err := m.Mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: kind}, version.Version)
		if meta.IsNoMatchError(err) {
			m.set(false, fmt.Sprintf("cert-manager is not installed: the API server has no kind %s in %s; install it", kind,
				version))
		}
		if err != nil {
			return false
		}
	}
	return true
}

func (m *CertManager) read(ctx context.Context, waited time.Duration) bool {
	for _, kind := range certManagerKinds() {
		informer, err := m.Cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err == nil && informer.HasSynced() {
			continue
		}
		if waited > readTimeout {
			m.set(false, "cert-manager's objects cannot be listed; check its CRDs, and the operator's log and rights")
		}
		return false
	}
	return true
}

func (m *CertManager) set(ready bool, trouble string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready, m.trouble = ready, trouble
}

// Problem is nil when the kinds can be read.
func (m *CertManager) Problem() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ready {
		return nil
	}
	return ErrNoCertManager{Why: m.trouble}
}

// Guard returns the client with reads that do not wait for cert-manager's kinds.
func (m *CertManager) Guard(c client.Client) client.Client { return guarded{Client: c, certManager: m} }

type guarded struct {
	client.Client
	certManager *CertManager
}

func (g guarded) problem(o any) error {
	switch o.(type) {
	case *certmanagerv1.Certificate, *certmanagerv1.Issuer, *certmanagerv1.CertificateList, *certmanagerv1.IssuerList:
		return g.certManager.Problem()
	}
	return nil
}

// Get implements client.Reader.
func (g guarded) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := g.problem(o); err != nil {
		return err
	}
	return g.Client.Get(ctx, key, o, opts...)
}

// List implements client.Reader.
func (g guarded) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := g.problem(list); err != nil {
		return err
	}
	return g.Client.List(ctx, list, opts...)
}
