package galerabenchmark

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/version"
)

// environment returns what all runs that count have reported so far. Of versions the first one reported counts.
func environment(before *v1alpha1.BenchmarkEnvironment, seen benchmarkFacts,
	measured []result.Record) *v1alpha1.BenchmarkEnvironment {
	measured = slices.DeleteFunc(slices.Clone(measured), func(r result.Record) bool { return !r.Valid || r.Output == nil })
	if len(measured) == 0 {
		return before
	}
	e := &v1alpha1.BenchmarkEnvironment{Seed: seen.Benchmark.Spec.Seed, Operator: version.Version}
	if before != nil {
		e = before.DeepCopy()
	}
	for _, r := range measured {
		x := r.Output.Environment
		e.MariaDB, e.Galera, e.OpenSSL = cmp.Or(e.MariaDB, x.MariaDB), cmp.Or(e.Galera, x.Galera),
			cmp.Or(e.OpenSSL, x.OpenSSL)
		e.Sysbench = cmp.Or(e.Sysbench, x.Sysbench)
	}
	placed(e, measured)
	pulled(e, measured)
	if seen.Cluster != nil {
		if e.Limits == nil {
			e.Limits = seen.Cluster.Spec.Resources.DeepCopy().Limits
		}
		e.StorageClass = cmp.Or(e.StorageClass, seen.StorageClass, "default")
	}
	if sets := madeSets(seen); len(sets) > 0 {
		e.DataSets = sets
	}
	return e
}

// clipped is as much of a text as the API admits, in bytes: a status that is too long would never be written.
func clipped(text string, limit int) string {
	const more = "…"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}

// storageClass is that of the first node's volume, which knows what the default was when it was made; "" when there is
// no volume, and no name.
func (r *Reconciler) storageClass(ctx context.Context, c *v1alpha1.GaleraCluster) (string, error) {
	if c == nil {
		return "", nil
	}
	if name := c.Spec.Storage.StorageClassName; name != nil {
		return *name, nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: cluster.ClaimName(c, 0)}, claim)
	if err != nil || claim.Spec.StorageClassName == nil {
		return "", client.IgnoreNotFound(err)
	}
	return *claim.Spec.StorageClassName, nil
}
