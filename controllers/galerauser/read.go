package galerauser

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// current are the versions of Secrets as they were last read past the cache, or written. A Secret in the cache is
// believed only while it is that version: an older one has a password that applications no longer use.
type current struct {
	mu       sync.Mutex
	versions map[client.ObjectKey]string
}

func (c *current) get(key client.ObjectKey) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.versions[key]
}

func (c *current) set(key client.ObjectKey, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.versions == nil {
		c.versions = map[client.ObjectKey]string{}
	}
	c.versions[key] = version
}

func (c *current) forget(keys ...client.ObjectKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		delete(c.versions, key)
	}
}

// secret reads a Secret of the operator's: from the cache if that has the last version that is known, or else past it.
func (r *Reconciler) secret(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	if known := r.current.get(key); known != "" {
		s := &corev1.Secret{}
		err := r.Client.Get(ctx, key, s)
		if err == nil && s.ResourceVersion == known && s.Annotations[v1alpha1.AnnotationTooLarge] == "" {
			return s, nil
		}
	}
	s := &corev1.Secret{}
	err := r.Live.Get(ctx, key, s)
	if err != nil {
		r.current.forget(key)
		return nil, err
	}
	r.current.set(key, s.ResourceVersion)
	return s, nil
}
