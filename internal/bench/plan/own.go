package plan

import (
	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// InForce is the policy a cluster is to run with: that of its spec, and what the benchmark lays over a referenced
// cluster's.
func InForce(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) v1alpha1.TLSSpec {
	if b.Spec.Cluster.Ref == nil || b.Status.Override == nil {
		return c.Spec.TLS
	}
	return c.Spec.TLS.With(*b.Status.Override)
}

// overrideSeen reports whether the operator of the cluster has seen what the benchmark lays over its policy, or that
// nothing is any more.
func overrideSeen(b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster) bool {
	var seen *v1alpha1.TLSOverride
	if c.Status.TLS != nil {
		seen = c.Status.TLS.Override
	}
	if b.Spec.Cluster.Ref == nil || b.Status.Override == nil {
		return seen == nil
	}
	return seen != nil && seen.Benchmark == b.Name && equality.Semantic.DeepEqual(seen.Policy, *b.Status.Override)
}
