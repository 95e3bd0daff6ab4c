package harness

import (
	"context"
	"fmt"
	"slices"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const arbitratorProgram = "garbd"

// votes is the size of the component when all nodes, and the arbitrator where there is one, are in it.
func votes(ctx context.Context, c *Cluster) (int, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return 0, err
	}
	if have.Spec.Arbitrator.Enabled {
		return int(have.Spec.Replicas) + 1, nil
	}
	return int(have.Spec.Replicas), nil
}

// ArbitratorPods lists a cluster's arbitrator's pods that are not terminating.
func ArbitratorPods(ctx context.Context, c *Cluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.Kube.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{
		v1alpha1.LabelCluster: c.Name, "app.kubernetes.io/component": "arbitrator",
	})
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), err
}

// KillArbitrator sends SIGKILL to garbd, and to nothing else.
func KillArbitrator(ctx context.Context, c *Cluster) error {
	pods, err := ArbitratorPods(ctx, c)
	if err != nil {
		return err
	}
	for i := range pods {
		n, err := killInPod(&pods[i], arbitratorProgram, syscall.SIGKILL)
		if err != nil || n > 0 {
			return err
		}
	}
	return fmt.Errorf("no %s runs in %d pods", arbitratorProgram, len(pods))
}
