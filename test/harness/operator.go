package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Where the operator runs.
const (
	OperatorNamespace  = "galera-operator-system"
	OperatorDeployment = "galera-operator-controller-manager"
	operatorProgram    = "manager"
	operatorLease      = "galera-operator"
	// OperatorReplicas is how many pods the operator has when a test does not want it otherwise.
	OperatorReplicas int32 = 2
)

func (k *Kube) operatorDeployment(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	err := k.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, d)
	if err != nil {
		return nil, fmt.Errorf("the operator is not deployed (make up does that): %w", err)
	}
	return d, nil
}

// operatorPods are all that have not ended. An ended one may stay, for instance after an eviction.
func (k *Kube) operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	err = k.List(ctx, &list, client.InNamespace(OperatorNamespace), client.MatchingLabels(d.Spec.Selector.MatchLabels))
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	}), err
}

// OperatorPod waits for the pod of the operator that acts: it holds the lease, runs, and is of the Deployment's present template.
func (k *Kube) OperatorPod(ctx context.Context) (p *corev1.Pod, err error) {
	if p, err = k.actingOperator(ctx); err == nil {
		return p, nil
	}
	err = k.Until(ctx, "an operator acts", time.Minute, func(ctx context.Context) (bool, string, error) {
		p, err = k.actingOperator(ctx)
		return err == nil, "", err
	})
	return p, err
}

// actingOperator looks for it once.
func (k *Kube) actingOperator(ctx context.Context) (*corev1.Pod, error) {
	pods, err := k.operatorPods(ctx)
	if err != nil {
		return nil, err
	}
	set, err := k.operatorReplicaSet(ctx)
	if err != nil {
		return nil, err
	}
	lease := &coordinationv1.Lease{}
	if err := k.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: operatorLease}, lease); err != nil {
		return nil, fmt.Errorf("no operator acts: %w", err)
	}
	for i := range pods {
		p := &pods[i]
		holds := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == p.Name
		if holds && metav1.IsControlledBy(p, set) && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && PodReady(p) {
			return p, nil
		}
	}
	return nil, errors.New("no pod of the operator that holds the lease is ready")
}

// operatorReplicaSet is the one of the Deployment's present template. Pods of earlier ones may be on their way out.
func (k *Kube) operatorReplicaSet(ctx context.Context) (*appsv1.ReplicaSet, error) {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return nil, err
	}
	var sets appsv1.ReplicaSetList
	if err := k.List(ctx, &sets, client.InNamespace(OperatorNamespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return nil, err
	}
	const revision = "deployment.kubernetes.io/revision"
	for i := range sets.Items {
		if s := &sets.Items[i]; metav1.IsControlledBy(s, d) && d.Status.ObservedGeneration >= d.Generation && s.Annotations[revision] == d.Annotations[revision] {
			return s, nil
		}
	}
	return nil, errors.New("the operator's Deployment has no ReplicaSet of its present template yet")
}

// WaitOperator waits until the operator is available.
func (k *Kube) WaitOperator(ctx context.Context, timeout time.Duration) error {
	return k.Until(ctx, "the operator is available", timeout, func(ctx context.Context) (bool, string, error) {
		d, err := k.operatorDeployment(ctx)
		if err != nil {
			return false, "", err
		}
		return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas == *d.Spec.Replicas && d.Status.UpdatedReplicas == d.Status.Replicas,
			fmt.Sprintf("%d of %d pods", d.Status.AvailableReplicas, d.Status.Replicas), nil
	})
}

// DefaultImage returns the database image of clusters that name none.
func (k *Kube) DefaultImage(ctx context.Context) (string, error) {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "DEFAULT_IMAGE" {
			return e.Value, nil
		}
	}
	return "", fmt.Errorf("the operator's deployment sets no DEFAULT_IMAGE")
}

// ScaleOperator runs that many operators, and waits until it is so.
func (k *Kube) ScaleOperator(ctx context.Context, replicas int32) error {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return err
	}
	want := d.DeepCopy()
	want.Spec.Replicas = &replicas
	if err := k.Patch(ctx, want, client.MergeFrom(d)); err != nil {
		return err
	}
	if replicas > 0 {
		return k.WaitOperator(ctx, 2*time.Minute)
	}
	return k.Until(ctx, "the operator is gone", time.Minute, func(ctx context.Context) (bool, string, error) {
		pods, err := k.operatorPods(ctx)
		return err == nil && len(pods) == 0, fmt.Sprintf("%d pods left", len(pods)), err
	})
}

// KillOperator kills the operator's process without warning; kubelet starts it again in its pod.
func (k *Kube) KillOperator(ctx context.Context) error {
	pods, err := k.operatorPods(ctx)
	if err != nil {
		return err
	}
	killed := 0
	for i := range pods {
		n, err := killInPod(&pods[i], operatorProgram, syscall.SIGKILL)
		if err != nil {
			return err
		}
		killed += n
	}
	if killed == 0 {
		return fmt.Errorf("no process of the operator runs on this machine")
	}
	return nil
}

// ReplaceOperator kills the operator's process without warning, and lets another pod go on at once: kubelet
// makes growing pauses between restarts in one pod, and another pod would wait for the lease of the dead one.
func (k *Kube) ReplaceOperator(ctx context.Context) error {
	old, err := k.OperatorPod(ctx)
	if err != nil {
		return err
	}
	if err := k.KillOperator(ctx); err != nil {
		return err
	}
	if err := errors.Join(k.DeleteOperatorPod(ctx), k.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(OperatorNamespace))); err != nil {
		return err
	}
	return k.Until(ctx, "another operator", time.Minute, func(ctx context.Context) (bool, string, error) {
		p, err := k.actingOperator(ctx)
		return err == nil && p.UID != old.UID, "", err
	})
}

// DeleteOperatorPod removes the operator's pod at once, so that a new one starts without the
// growing pauses kubelet makes between restarts.
func (k *Kube) DeleteOperatorPod(ctx context.Context) error {
	d, err := k.operatorDeployment(ctx)
	if err != nil {
		return err
	}
	return k.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(OperatorNamespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels), client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// DeleteStandby removes the operator's pods that do not act; new ones come where Kubernetes spreads them to.
func (k *Kube) DeleteStandby(ctx context.Context) error {
	acting, err := k.OperatorPod(ctx)
	if err != nil {
		return err
	}
	pods, err := k.operatorPods(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range pods {
		if pods[i].UID != acting.UID {
			errs = append(errs, client.IgnoreNotFound(k.Delete(ctx, &pods[i])))
		}
	}
	return errors.Join(errs...)
}
