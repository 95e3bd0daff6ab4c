package observe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// overridden returns the cluster with the TLS policy that a benchmark lays over its own, and what that is; the cluster
// as it is when no benchmark does. The policy ends with the benchmark, however that ends: nothing has to be put back.
func (r Readers) overridden(ctx context.Context, c *v1alpha1.GaleraCluster) (*v1alpha1.GaleraCluster,
	*v1alpha1.TLSOverride, error) {
	name := c.Annotations[v1alpha1.AnnotationBenchmark]
	if name == "" || !r.Benchmarks {
		return c, nil, nil
	}
	b := &v1alpha1.GaleraBenchmark{}
	switch err := r.Cached.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, b); {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return c, nil, nil
	case err != nil:
		return c, nil, fmt.Errorf("reading the GaleraBenchmark %s: %w", name, err)
	case !overrides(b, c):
		return c, nil, nil
	}
	out := c.DeepCopy()
	out.Spec.TLS = c.Spec.TLS.With(*b.Status.Override)
	return out, &v1alpha1.TLSOverride{Benchmark: name, Policy: *b.Status.Override}, nil
}

// overrides reports whether a benchmark's override holds for a cluster: it runs, refers to the cluster, and may change
// its policy.
func overrides(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) bool {
	ref := b.Spec.Cluster.Ref
	return b.Status.Override != nil && b.Status.CompletedAt == nil && b.DeletionTimestamp == nil &&
		ref != nil && ref.Name == c.Name && ref.AllowPolicyChanges
}
