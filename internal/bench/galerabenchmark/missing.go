package galerabenchmark

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// missing returns what the benchmark's Jobs would wait for in vain: kubelet would report it in events only.
func (r *Reconciler) missing(ctx context.Context, b *v1alpha1.GaleraBenchmark) (string, error) {
	if r.Images.Client == "" && b.Spec.Client.Image == "" {
		return "there is no image with the load generator: set spec.client.image, or --benchmark-image of the benchmarks' " +
			"program", nil
	}
	for i := range b.Spec.Workloads {
		if why, err := missingStore(ctx, r.Live, b.Namespace, &b.Spec.Workloads[i]); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// missingStore is what a workload lacks that makes backups.
func missingStore(ctx context.Context, live client.Reader, namespace string, w *v1alpha1.BenchmarkWorkload) (string,
	error) {
	if w.Operation == nil || w.Operation.StoreRef == nil {
		return "", nil
	}
	store := &v1alpha1.GaleraBackupStore{}
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: w.Operation.StoreRef.Name}, store)
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf(
			"the workload %s needs the GaleraBackupStore %q, which does not exist; create it, or make another benchmark "+
				"without the operation Backup",
			w.Name, w.Operation.StoreRef.Name), nil
	}
	if err != nil {
		return "", err
	}
	if why := storeProblem(store); why != "" {
		return fmt.Sprintf("the workload %s makes backups: %s", w.Name, why), nil
	}
	return "", nil
}

// storeProblem describes why a store cannot be used, "" when it can.
func storeProblem(s *v1alpha1.GaleraBackupStore) string {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
	switch {
	case c == nil || c.ObservedGeneration != s.Generation:
		return fmt.Sprintf("waiting for the check of the store %q", s.Name)
	case c.Status != metav1.ConditionTrue:
		return fmt.Sprintf("the store %q cannot be used: %s", s.Name, c.Message)
	}
	return ""
}
