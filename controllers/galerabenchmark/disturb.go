package galerabenchmark

import (
	"context"
	"errors"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/bench/job"
	"github.com/galera-operator/galera-operator/internal/bench/plan"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// errNotPrivate refuses what is done to a benchmark's own cluster only.
var errNotPrivate = errors.New("only a private cluster is ever disturbed")

// private says that the cluster was made for the benchmark.
func private(seen benchmarkFacts) bool { return metav1.IsControlledBy(seen.Cluster, seen.Benchmark) }

// request asks for an operation by an annotation on the private cluster.
func (r *Reconciler) request(ctx context.Context, seen benchmarkFacts, a plan.Request) error {
	if !private(seen) {
		return errNotPrivate
	}
	return r.patchCluster(ctx, seen.Cluster, func(c *v1alpha1.GaleraCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[a.Annotation] = a.Value
	})
}

// takeData deletes a private cluster's pod with its volume: the very pod that was there before the runner was.
func (r *Reconciler) takeData(ctx context.Context, seen benchmarkFacts, member string) error {
	if !private(seen) {
		return errNotPrivate
	}
	for i := range seen.Pods {
		p := &seen.Pods[i]
		if p.Name != member || p.DeletionTimestamp != nil || p.CreationTimestamp.After(seen.Job.RunningSince) {
			continue
		}
		ordinal, err := strconv.Atoi(member[strings.LastIndexByte(member, '-')+1:])
		if err != nil {
			return err
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: claimName(seen.Cluster, ordinal)}}
		if err := client.IgnoreNotFound(r.Delete(ctx, claim)); err != nil {
			return err
		}
		uid := p.UID
		return client.IgnoreNotFound(r.Delete(ctx, p, client.Preconditions{UID: &uid}))
	}
	return nil
}

// takePod deletes a private cluster's pod, and those that come in its place for a while. The volume stays.
func (r *Reconciler) takePod(ctx context.Context, seen benchmarkFacts, a plan.TakePod) error {
	if !private(seen) {
		return errNotPrivate
	}
	for i := range seen.Pods {
		p := &seen.Pods[i]
		if p.Name != a.Member || p.DeletionTimestamp != nil || p.CreationTimestamp.After(a.Until) {
			continue
		}
		return client.IgnoreNotFound(r.Delete(ctx, p, client.Preconditions{UID: new(p.UID)}))
	}
	return nil
}

// switchReplication changes the spec of the private cluster.
func (r *Reconciler) switchReplication(ctx context.Context, seen benchmarkFacts, a plan.SwitchReplication) error {
	if !private(seen) {
		return errNotPrivate
	}
	return r.patchCluster(ctx, seen.Cluster, func(c *v1alpha1.GaleraCluster) {
		c.Spec = plan.Switched(*seen.Benchmark.Spec.Cluster.Template, a.Run, a.Other)
	})
}

// makeBackup makes one of the private cluster.
func (r *Reconciler) makeBackup(ctx context.Context, seen benchmarkFacts, a plan.MakeBackup) error {
	if !private(seen) {
		return errNotPrivate
	}
	return apply.Keep(ctx, r.Client, r.Live, seen.Benchmark.UID, job.Backup(seen.Benchmark, a.Name, a.Store))
}

// backupOf is the backup that was made for a Job, nil when there is none.
func (r *Reconciler) backupOf(ctx context.Context, b *v1alpha1.GaleraBenchmark, j *plan.Job) (*v1alpha1.GaleraBackup, error) {
	if j.Operation == nil || j.Operation.Name != result.OperationBackup {
		return nil, nil
	}
	have := &v1alpha1.GaleraBackup{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: j.Name}, have)
	if err != nil || !metav1.IsControlledBy(have, b) {
		return nil, client.IgnoreNotFound(err)
	}
	return have, nil
}
