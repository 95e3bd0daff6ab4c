package observe

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/undecodable"
)

// proxies reads the proxies of a cluster. One that cannot be decoded may be one of them.
func (r Readers) proxies(ctx context.Context, f *Facts) error {
	var all v1alpha1.GaleraProxyList
	err := r.Cached.List(ctx, &all, client.InNamespace(f.Cluster.Namespace), undecodable.Complete{})
	f.ProxiesUnknown = err != nil
	var unknown *undecodable.Error
	switch {
	case errors.As(err, &unknown):
		return nil // reported where it is
	case err != nil:
		return fmt.Errorf("listing proxies: %w", err)
	}
	for _, p := range all.Items {
		if p.Spec.ClusterRef.Name == f.Cluster.Name {
			f.Proxies = append(f.Proxies, p)
		}
	}
	return nil
}
