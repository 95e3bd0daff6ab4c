package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// DatabaseContainer is the name of the database container in every pod.
const DatabaseContainer = "mariadb"

// Pods lists the cluster's database pods, by name.
func (c *Cluster) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.Kube.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{
		v1alpha1.LabelCluster: c.Name, "app.kubernetes.io/component": "database",
	})
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// Pod reads one pod.
func (c *Cluster) Pod(ctx context.Context, name string) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	return p, c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, p)
}

// DeletePod deletes one pod, gracefully, and returns the UID it had.
func (c *Cluster) DeletePod(ctx context.Context, name string) (types.UID, error) {
	p, err := c.Pod(ctx, name)
	if err != nil {
		return "", err
	}
	return p.UID, c.Kube.Delete(ctx, p)
}

// ForceDeletePods takes all pods out of the API at once, as kubectl delete --force does: nothing
// in them gets time to stop in order.
func (c *Cluster) ForceDeletePods(ctx context.Context) error {
	return c.Kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(c.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: c.Name}, client.GracePeriodSeconds(0))
}

// DeleteClaim deletes the claim of one pod; the volume goes when the pod does.
func (c *Cluster) DeleteClaim(ctx context.Context, pod string) error {
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "data-" + pod}}
	return client.IgnoreNotFound(c.Kube.Delete(ctx, pvc))
}

// WaitReplaced waits until a pod of that name but another UID runs.
func (c *Cluster) WaitReplaced(ctx context.Context, name string, old types.UID, timeout time.Duration) error {
	return c.Kube.Until(ctx, name+" is replaced", timeout, func(ctx context.Context) (bool, string, error) {
		p, err := c.Pod(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			return false, "gone", nil
		case err != nil:
			return false, "", err
		case p.UID == old:
			return false, "still the old one", nil
		}
		return p.Status.Phase == corev1.PodRunning && p.Status.PodIP != "", string(p.Status.Phase), nil
	})
}

// PodReady says that Kubernetes sends the pod traffic.
func PodReady(p *corev1.Pod) bool {
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Logs returns the last lines of the database container; with previous, those of the container
// that ran before it in the same pod.
func (c *Cluster) Logs(ctx context.Context, pod string, lines int64, previous bool) (string, error) {
	return c.Kube.podLogs(ctx, c.Namespace, pod, DatabaseContainer, lines, previous)
}

func (k *Kube) podLogs(ctx context.Context, namespace, pod, container string, lines int64, previous bool) (string, error) {
	o := &corev1.PodLogOptions{Container: container, Previous: previous}
	if lines > 0 {
		o.TailLines = &lines
	}
	b, err := k.Clientset.CoreV1().Pods(namespace).GetLogs(pod, o).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", pod, err)
	}
	return string(b), nil
}

func (k *Kube) podLogsSince(ctx context.Context, namespace, pod, container string, since time.Time) (string, error) {
	from := metav1.NewTime(since)
	b, err := k.Clientset.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{Container: container, SinceTime: &from}).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", pod, err)
	}
	return string(b), nil
}

// TimedLogs returns what a pod has logged since a moment, each line with its time.
func (c *Cluster) TimedLogs(ctx context.Context, pod string, since time.Time) (string, error) {
	from := metav1.NewTime(since)
	o := &corev1.PodLogOptions{Container: DatabaseContainer, SinceTime: &from, Timestamps: true}
	b, err := c.Kube.Clientset.CoreV1().Pods(c.Namespace).GetLogs(pod, o).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", pod, err)
	}
	return string(b), nil
}

// ScaleSet changes the StatefulSet by hand, and waits until it is so. It makes sense only while
// no operator runs, which would change it back.
func (c *Cluster) ScaleSet(ctx context.Context, replicas int32) error {
	set := &appsv1.StatefulSet{}
	if err := c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, set); err != nil {
		return err
	}
	want := set.DeepCopy()
	want.Spec.Replicas = &replicas
	if err := c.Kube.Patch(ctx, want, client.MergeFrom(set)); err != nil {
		return err
	}
	return c.Kube.Until(ctx, fmt.Sprintf("%s has %d pods", c.Name, replicas), 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		pods, err := c.Pods(ctx)
		return err == nil && len(pods) == int(replicas), fmt.Sprintf("%d pods", len(pods)), err
	})
}

// Evict asks for a pod's eviction, as a drain does. The API refuses it when the budget is used up.
func (c *Cluster) Evict(ctx context.Context, name string) error {
	return c.Kube.Clientset.CoreV1().Pods(c.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
	})
}
