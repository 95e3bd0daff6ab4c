package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Where the operator runs.
const (
	OperatorNamespace  = "galera-operator-system"
	OperatorDeployment = "galera-operator-controller-manager"
	// BenchmarksDeployment is that of the benchmarks' program.
	BenchmarksDeployment = "galera-operator-benchmarks"
	operatorProgram      = "manager"
	operatorLease        = "galera-operator"
	// OperatorReplicas is how many pods the operator has when a test does not want it otherwise.
	OperatorReplicas int32 = 2
)

// Operator is the operator that is deployed, with its pods.
type Operator struct{ kube *Kube }

// Operator returns the handle of the operator, whether it is deployed or not.
func (k *Kube) Operator() Operator { return Operator{k} }

func (k Operator) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	err := k.kube.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, d)
	if err != nil {
		return nil, fmt.Errorf("the operator is not deployed (make up does that): %w", err)
	}
	return d, nil
}

// pods are all that have not ended. An ended one may stay, for instance after an eviction.
func (k Operator) pods(ctx context.Context) ([]corev1.Pod, error) {
	d, err := k.deployment(ctx)
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	err = k.kube.List(ctx, &list, client.InNamespace(OperatorNamespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels))
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	}), err
}

// Pod waits for the pod of the operator that acts: it holds the lease, runs, and is of the Deployment's present
// template.
func (k Operator) Pod(ctx context.Context) (p *corev1.Pod, err error) {
	if p, err = k.acting(ctx); err == nil {
		return p, nil
	}
	err = k.kube.Until(ctx, "an operator acts", time.Minute, func(ctx context.Context) (bool, string, error) {
		p, err = k.acting(ctx)
		return err == nil, "", err
	})
	return p, err
}

// acting looks for it once.
func (k Operator) acting(ctx context.Context) (*corev1.Pod, error) {
	pods, err := k.pods(ctx)
	if err != nil {
		return nil, err
	}
	set, err := k.replicaSet(ctx)
	if err != nil {
		return nil, err
	}
	lease := &coordinationv1.Lease{}
	if err := k.kube.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: operatorLease}, lease); err != nil {
		return nil, fmt.Errorf("no operator acts: %w", err)
	}
	for i := range pods {
		p := &pods[i]
		holds := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == p.Name
		if holds && metav1.IsControlledBy(p, set) && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning &&
			PodReady(p) {
			return p, nil
		}
	}
	return nil, errors.New("no pod of the operator that holds the lease is ready")
}

// replicaSet is the one of the Deployment's present template. Pods of earlier ones may be terminating.
func (k Operator) replicaSet(ctx context.Context) (*appsv1.ReplicaSet, error) {
	d, err := k.deployment(ctx)
	if err != nil {
		return nil, err
	}
	var sets appsv1.ReplicaSetList
	if err := k.kube.List(ctx, &sets, client.InNamespace(OperatorNamespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return nil, err
	}
	const revision = "deployment.kubernetes.io/revision"
	for i := range sets.Items {
		if s := &sets.Items[i]; metav1.IsControlledBy(s, d) && d.Status.ObservedGeneration >= d.Generation &&
			s.Annotations[revision] == d.Annotations[revision] {
			return s, nil
		}
	}
	return nil, errors.New("the operator's Deployment has no ReplicaSet of its present template yet")
}

// Wait waits until the operator is available.
func (k Operator) Wait(ctx context.Context, timeout time.Duration) error {
	return k.kube.Until(ctx, "the operator is available", timeout, func(ctx context.Context) (bool, string, error) {
		d, err := k.deployment(ctx)
		if err != nil {
			return false, "", err
		}
		return d.Status.ObservedGeneration >= d.Generation && d.Status.AvailableReplicas == *d.Spec.Replicas &&
				d.Status.UpdatedReplicas == d.Status.Replicas,
			fmt.Sprintf("%d of %d pods", d.Status.AvailableReplicas, d.Status.Replicas), nil
	})
}

// DefaultImage returns the database image of clusters that name none.
func (k Operator) DefaultImage(ctx context.Context) (string, error) {
	d, err := k.deployment(ctx)
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

// Scale runs that many operators, and waits until it is so.
func (k Operator) Scale(ctx context.Context, replicas int32) error {
	d, err := k.deployment(ctx)
	if err != nil {
		return err
	}
	want := d.DeepCopy()
	want.Spec.Replicas = &replicas
	if err := k.kube.Patch(ctx, want, client.MergeFrom(d)); err != nil {
		return err
	}
	if replicas > 0 {
		return k.Wait(ctx, 2*time.Minute)
	}
	return k.kube.Until(ctx, "the operator is gone", time.Minute, func(ctx context.Context) (bool, string, error) {
		pods, err := k.pods(ctx)
		return err == nil && len(pods) == 0, fmt.Sprintf("%d pods left", len(pods)), err
	})
}

// Kill kills the operator's process without warning; kubelet starts it again in its pod.
func (k Operator) Kill(ctx context.Context) error {
	pods, err := k.pods(ctx)
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

// Replace kills the operator's process without warning, and lets another pod go on at once: kubelet
// makes growing pauses between restarts in one pod, and another pod would wait for the lease of the dead one.
func (k Operator) Replace(ctx context.Context) error {
	old, err := k.Pod(ctx)
	if err != nil {
		return err
	}
	if err := k.Kill(ctx); err != nil {
		return err
	}
	if err := errors.Join(k.DeletePod(ctx), k.kube.DeleteAllOf(ctx, &coordinationv1.Lease{},
		client.InNamespace(OperatorNamespace))); err != nil {
		return err
	}
	return k.kube.Until(ctx, "another operator", time.Minute, func(ctx context.Context) (bool, string, error) {
		p, err := k.acting(ctx)
		return err == nil && p.UID != old.UID, "", err
	})
}

// DeletePod removes the operator's pod at once, so that a new one starts without the
// growing pauses kubelet makes between restarts.
func (k Operator) DeletePod(ctx context.Context) error {
	d, err := k.deployment(ctx)
	if err != nil {
		return err
	}
	return k.kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(OperatorNamespace),
		client.MatchingLabels(d.Spec.Selector.MatchLabels), client.GracePeriodSeconds(0),
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// DeleteBenchmarksPod removes the pod of the benchmarks' program at once.
func (k Operator) DeleteBenchmarksPod(ctx context.Context) error {
	return k.kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(OperatorNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": "galera-operator", "app.kubernetes.io/component": "benchmarks"},
		client.GracePeriodSeconds(0))
}

// DeleteStandby removes the operator's pods that do not act; new ones come where Kubernetes spreads them to.
func (k Operator) DeleteStandby(ctx context.Context) error {
	acting, err := k.Pod(ctx)
	if err != nil {
		return err
	}
	pods, err := k.pods(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range pods {
		if pods[i].UID != acting.UID {
			errs = append(errs, client.IgnoreNotFound(k.kube.Delete(ctx, &pods[i])))
		}
	}
	return errors.Join(errs...)
}

// Logs returns what the operator that acts has logged.
func (k Operator) Logs(ctx context.Context) (string, error) {
	p, err := k.Pod(ctx)
	if err != nil {
		return "", err
	}
	return k.kube.podLogs(ctx, p.Namespace, p.Name, p.Spec.Containers[0].Name, 0, false)
}

// May asks the API server whether the operator has a right in a namespace. The resource is written RESOURCE or
// RESOURCE.GROUP.
func (k Operator) May(ctx context.Context, verb, resource, namespace string) (bool, error) {
	d, err := k.deployment(ctx)
	if err != nil {
		return false, err
	}
	name, group, _ := strings.Cut(resource, ".")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + d.Namespace + ":" + d.Spec.Template.Spec.ServiceAccountName,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group,
			Resource: name},
	}}
	err = k.kube.Create(ctx, review)
	return review.Status.Allowed, err
}
