package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/test/harness"
)

// byOperator makes a backup, and returns it with the time from the node's first byte to the manifest.
func (b *bench) byOperator(ctx context.Context, round int) (*v1alpha1.GaleraBackup, time.Duration, error) {
	backup := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace,
		Name: fmt.Sprintf("round-%d", round)},
		Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: b.cluster.Name},
			StoreRef: v1alpha1.LocalName{Name: storeName}}}
	if err := b.kube.Create(ctx, backup); err != nil {
		return nil, 0, err
	}
	err := b.kube.Until(ctx, "the backup "+backup.Name, patience, func(ctx context.Context) (bool, string, error) {
		err := b.kube.Get(ctx, client.ObjectKeyFromObject(backup), backup)
		if err == nil && backup.Status.Phase == v1alpha1.BackupFailed {
			err = fmt.Errorf("it has failed")
		}
		return backup.Status.Phase == v1alpha1.BackupCompleted, backup.Status.Phase, err
	})
	if err != nil {
		return nil, 0, err
	}
	took, err := b.program(ctx, backup.Name+"-backup-1")
	return backup, took, err
}

// program is how long the program of a Job was at work, as it has reported.
func (b *bench) program(ctx context.Context, job string) (time.Duration, error) {
	var pods corev1.PodList
	if err := b.kube.List(ctx, &pods, client.InNamespace(b.namespace),
		client.MatchingLabels{batchv1.JobNameLabel: job}); err != nil {
		return 0, err
	}
	for _, p := range pods.Items {
		for _, s := range p.Status.ContainerStatuses {
			var r task.Result
			if t := s.State.Terminated; t != nil && json.Unmarshal([]byte(t.Message), &r) == nil {
				return time.Duration(r.TookSeconds * float64(time.Second)), nil
			}
		}
	}
	return 0, fmt.Errorf("the Job %s has no pod that has ended", job)
}

// restored is a cluster that begins with a backup.
type restored struct {
	// ready is from its creation until it was Ready; program how long the slowest of its Jobs ran.
	ready, program time.Duration
	ssts           int
}

func (b *bench) restore(ctx context.Context, backup string, replicas int32, round int) (restored, error) {
	name := fmt.Sprintf("back-%d-%d", replicas, round)
	c := harness.Build(b.namespace, name, harness.Replicas(replicas),
		harness.Size(fmt.Sprintf("%dMi", 4*b.options.mebibytes+512)))
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
		Backup: &v1alpha1.LocalName{Name: backup}}
	start := time.Now()
	w := b.watch(ctx, name)
	defer w.cancel()
	cluster, err := b.kube.CreateCluster(ctx, c)
	if err != nil {
		return restored{}, err
	}
	program, err := w.waitReady(ctx, cluster)
	if err != nil {
		return restored{}, err
	}
	out := restored{ready: time.Since(start), program: program}
	joins, err := cluster.Joins().Since(ctx, start)
	if err != nil {
		return out, err
	}
	for _, kind := range joins {
		out.ssts += strings.Count(kind, "SST")
	}
	return out, cluster.Delete(ctx)
}
