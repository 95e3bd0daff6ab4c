package clone

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Sources finds the clusters that backups are made of.
type Sources struct {
	client.Reader
	// Namespaces are those that the operator watches, none for all.
	Namespaces []string
}

// Watches reports whether clusters of a namespace can be seen.
func (s Sources) Watches(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// Find returns a cluster, nil where there is none that can be seen.
func (s Sources) Find(ctx context.Context, namespace, name string) (*v1alpha1.GaleraCluster, error) {
	if !s.Watches(namespace) {
		return nil, nil // the cache would fail
	}
	c := &v1alpha1.GaleraCluster{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, c); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return c, nil
}
