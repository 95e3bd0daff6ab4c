package galerabenchmark

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// errNotPrivate refuses what is done to a benchmark's own cluster only.
var errNotPrivate = errors.New("only a private cluster is ever disturbed")

// private reports whether the cluster was made for the benchmark.
func private(seen benchmarkFacts) bool { return metav1.IsControlledBy(seen.Cluster, seen.Benchmark) }

// disturbance is what is done to a benchmark's own cluster, and to no other.
type disturbance struct {
	*Reconciler
	seen benchmarkFacts
}

func (d disturbance) act(ctx context.Context, a experiment.Action) error {
	if !private(d.seen) {
		return errNotPrivate
	}
	switch a := a.(type) {
	case experiment.Request:
		return d.request(ctx, a)
	case experiment.TakePod:
		return d.takePod(ctx, a)
	case experiment.SwitchReplication:
		return d.switchReplication(ctx, a)
	case experiment.MakeBackup:
		return d.makeBackup(ctx, a)
	}
	return fmt.Errorf("no way to disturb a cluster by %T", a)
}

// request asks for an operation by an annotation on the private cluster.
func (d disturbance) request(ctx context.Context, a experiment.Request) error {
	return d.patchCluster(ctx, d.seen.Cluster, func(c *v1alpha1.GaleraCluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[a.Annotation] = a.Value
	})
}

// takePod deletes a private cluster's pod, and those that come in its place for a while; with its volume where the data
// are wanted.
func (d disturbance) takePod(ctx context.Context, a experiment.TakePod) error {
	for i := range d.seen.Pods {
		p := &d.seen.Pods[i]
		if p.Name != a.Member || p.DeletionTimestamp != nil || p.CreationTimestamp.After(a.Until) {
			continue
		}
		if a.Data {
			ordinal, err := strconv.Atoi(a.Member[strings.LastIndexByte(a.Member, '-')+1:])
			if err != nil {
				return err
			}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace,
				Name: cluster.ClaimName(d.seen.Cluster, ordinal)}}
			if err := client.IgnoreNotFound(d.Delete(ctx, claim)); err != nil {
				return err
			}
		}
		return client.IgnoreNotFound(d.Delete(ctx, p, client.Preconditions{UID: new(p.UID)}))
	}
	return nil
}

// switchReplication changes the spec of the private cluster.
func (d disturbance) switchReplication(ctx context.Context, a experiment.SwitchReplication) error {
	return d.patchCluster(ctx, d.seen.Cluster, func(c *v1alpha1.GaleraCluster) {
		c.Spec = experiment.Switched(*d.seen.Benchmark.Spec.Cluster.Template, a.Run, a.Other)
	})
}

// makeBackup makes one of the private cluster.
func (d disturbance) makeBackup(ctx context.Context, a experiment.MakeBackup) error {
	return ownership.Keep(ctx, d.Client, d.Live, d.seen.Benchmark.UID, objects.Backup(d.seen.Benchmark, a.Name, a.Store))
}

// backupOf is the backup that was made for a Job, nil when there is none.
func (r *Reconciler) backupOf(ctx context.Context, b *v1alpha1.GaleraBenchmark,
	j *experiment.Job) (*v1alpha1.GaleraBackup, error) {
	if j.Operation == nil || j.Operation.Name != v1alpha1.OperationBackup {
		return nil, nil
	}
	have := &v1alpha1.GaleraBackup{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: j.Name}, have)
	if err != nil || !metav1.IsControlledBy(have, b) {
		return nil, client.IgnoreNotFound(err)
	}
	return have, nil
}
