package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
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

// Pods are a cluster's database pods, as Kubernetes has them.
type Pods struct{ cluster *Cluster }

// Pods returns the handle of the cluster's pods.
func (c *Cluster) Pods() Pods { return Pods{c} }

// List returns the database pods, by name.
func (c Pods) List(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.cluster.Kube.List(ctx, &list, client.InNamespace(c.cluster.Namespace), client.MatchingLabels{
		v1alpha1.LabelCluster: c.cluster.Name, "app.kubernetes.io/component": "database",
	})
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// Delete deletes one pod, gracefully, and returns the UID it had.
func (c Pods) Delete(ctx context.Context, name string) (types.UID, error) {
	p, err := c.cluster.Pod(ctx, name)
	if err != nil {
		return "", err
	}
	return p.UID, c.cluster.Kube.Delete(ctx, p)
}

// ForceDelete takes one pod out of the API at once, and waits until none of its processes runs.
func (c Pods) ForceDelete(ctx context.Context, name string) error {
	p, err := c.cluster.Pod(ctx, name)
	if err != nil {
		return err
	}
	if err := c.cluster.Kube.Delete(ctx, p, client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return c.cluster.Kube.Until(ctx, name+" runs no more", time.Minute, func(context.Context) (bool, string, error) {
		left := len(podProcesses(p))
		return left == 0, fmt.Sprintf("%d processes", left), nil
	})
}

// ForceDeleteAll takes all pods, the arbitrator's too, out of the API at once, as kubectl delete --force does: nothing
// in them gets time to stop in order.
func (c Pods) ForceDeleteAll(ctx context.Context) error {
	return c.cluster.Kube.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(c.cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: c.cluster.Name}, client.GracePeriodSeconds(0))
}

// WaitReplaced waits until a pod of that name but another UID runs.
func (c Pods) WaitReplaced(ctx context.Context, name string, old types.UID, timeout time.Duration) error {
	return c.cluster.Kube.Until(ctx, name+" is replaced", timeout, func(ctx context.Context) (bool, string, error) {
		p, err := c.cluster.Pod(ctx, name)
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

// PodReady reports whether Kubernetes sends the pod traffic.
func PodReady(p *corev1.Pod) bool {
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

// NodeOf returns the node on which a pod runs.
func (c Pods) NodeOf(ctx context.Context, pod string) (string, error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return "", err
	}
	if p.Spec.NodeName == "" {
		return "", fmt.Errorf("%s is on no node yet", pod)
	}
	return p.Spec.NodeName, nil
}

// Runs identifies the run of every database container: the pod's UID, how often its container was
// restarted, and the name the running server has in the group, so that a restart of any kind shows.
func (c Pods) Runs(ctx context.Context) (map[string]string, error) {
	pods, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	cl, err := c.cluster.Client(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			continue // terminating
		}
		uid, err := cl.QueryPod(ctx, p.Name, runQuery)
		if err != nil {
			return nil, err
		}
		out[p.Name] = fmt.Sprintf("%s/%d/%s", p.UID, restarts(&p), uid)
	}
	return out, nil
}

// Logs returns the last lines of the database container; with previous, those of the container
// that ran before it in the same pod.
func (c Pods) Logs(ctx context.Context, pod string, lines int64, previous bool) (string, error) {
	return c.cluster.Kube.podLogs(ctx, c.cluster.Namespace, pod, DatabaseContainer, lines, previous)
}

func (k *Kube) podLogs(ctx context.Context, namespace, pod, container string, lines int64, previous bool) (string,
	error) {
	o := &corev1.PodLogOptions{Container: container, Previous: previous}
	if lines > 0 {
		o.TailLines = &lines
	}
	return k.readLog(ctx, namespace, pod, o)
}

func (k *Kube) readLog(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (string, error) {
	b, err := k.Clientset.CoreV1().Pods(namespace).GetLogs(pod, o).DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", pod, err)
	}
	return string(b), nil
}

// LogsSince returns what a pod's database container has logged since a moment.
func (c Pods) LogsSince(ctx context.Context, pod string, since time.Time) (string, error) {
	from := metav1.NewTime(since)
	return c.cluster.Kube.readLog(ctx, c.cluster.Namespace, pod, &corev1.PodLogOptions{Container: DatabaseContainer,
		SinceTime: &from})
}

// TimedLogs returns what a pod has logged since a moment, each line with its time.
func (c Pods) TimedLogs(ctx context.Context, pod string, since time.Time) (string, error) {
	from := metav1.NewTime(since)
	return c.cluster.Kube.readLog(ctx, c.cluster.Namespace, pod, &corev1.PodLogOptions{Container: DatabaseContainer,
		SinceTime: &from, Timestamps: true})
}

// Evict asks for a pod's eviction, as a drain does. The API refuses it when the budget is used up.
func (c Pods) Evict(ctx context.Context, name string) error {
	return c.cluster.Kube.Clientset.CoreV1().Pods(c.cluster.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.cluster.Namespace, Name: name},
	})
}

// ScaleSet changes the StatefulSet by hand, and waits until it is so. It makes sense only while
// no operator runs, which would change it back.
func (c Pods) ScaleSet(ctx context.Context, replicas int32) error {
	set := &appsv1.StatefulSet{}
	if err := c.cluster.Kube.Get(ctx, client.ObjectKey{Namespace: c.cluster.Namespace, Name: c.cluster.Name},
		set); err != nil {
		return err
	}
	want := set.DeepCopy()
	want.Spec.Replicas = &replicas
	if err := c.cluster.Kube.Patch(ctx, want, client.MergeFrom(set)); err != nil {
		return err
	}
	return c.cluster.Kube.Until(ctx, fmt.Sprintf("%s has %d pods", c.cluster.Name, replicas), 2*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			pods, err := c.List(ctx)
			return err == nil && len(pods) == int(replicas), fmt.Sprintf("%d pods", len(pods)), err
		})
}

// Memory returns the resident memory of the processes of one program in a pod of the namespace, in bytes.
func (c Pods) Memory(ctx context.Context, pod, program string) (sum int64, err error) {
	p, err := c.cluster.Pod(ctx, pod)
	if err != nil {
		return 0, err
	}
	for _, pid := range processes(p, program) {
		n, err := residentMemory(pid)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Signal sends a signal to the processes of one program in a pod of the namespace.
func (c Pods) Signal(ctx context.Context, pod, program string, signal syscall.Signal) error {
	return signalProgram(ctx, c.cluster, pod, program, signal)
}
