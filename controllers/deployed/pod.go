// Package deployed asks the program in the pod of a Deployment that a cluster has besides its nodes.
package deployed

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/controllers/calls"
)

// maxAsked bounds the pods that one pass asks: a Deployment of one pod has two at most.
const maxAsked = 2

// Ask asks the pod of a Deployment, by its address. silent is why nothing has answered, "" when something has.
func Ask[A any](ctx context.Context, c client.Reader, namespace, deployment string, labels map[string]string,
	ask func(address string) (A, error)) (answer *A, silent string, err error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(labels)); err != nil {
		return nil, "", err
	}
	silent = "there is no pod of the Deployment " + deployment +
		": kubectl describe shows what keeps it from being created"
	asked := 0
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp != nil || !owned(p, deployment) || asked == maxAsked {
			continue
		}
		silent = "the pod " + p.Name + " is not running: " + failure(p)
		if p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" {
			continue
		}
		asked++
		a, err := ask(p.Status.PodIP)
		if calls.Quiet(err) {
			return nil, silent, err
		}
		if err == nil {
			return &a, "", nil
		}
		silent = "the pod " + p.Name + " does not answer: " + err.Error()
	}
	return nil, silent, nil
}

// owned reports whether a pod is of a Deployment, by its ReplicaSet: other pods with the labels are not asked.
func owned(p *corev1.Pod, deployment string) bool {
	owner := metav1.GetControllerOf(p)
	hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	return owner != nil && owner.Kind == "ReplicaSet" && hash != "" && owner.Name == deployment+"-"+hash
}

func failure(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			if t := c.LastTerminationState.Terminated; t != nil && t.Reason == "OOMKilled" {
				return fmt.Sprintf(
					"it needed more memory than its limit of %s. Raise "+
						"spec.pods.resources of the GaleraBackupStore",
					limitOf(p, c.Name))
			}
			return w.Reason + " " + w.Message
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	return string(p.Status.Phase)
}

// limitOf is how much memory a container may use.
func limitOf(p *corev1.Pod, name string) string {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == name {
			return p.Spec.Containers[i].Resources.Limits.Memory().String()
		}
	}
	return "0"
}
