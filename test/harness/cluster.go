package harness

import (
	"context"
	"fmt"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Cluster is a handle of one GaleraCluster. It holds no state of it.
type Cluster struct {
	Kube      *Kube
	Namespace string
	Name      string
}

// Cluster returns the handle of a GaleraCluster, whether it exists or not.
func (k *Kube) Cluster(namespace, name string) *Cluster {
	return &Cluster{Kube: k, Namespace: namespace, Name: name}
}

// CreateCluster creates the GaleraCluster and returns its handle.
func (k *Kube) CreateCluster(ctx context.Context, c *v1alpha1.GaleraCluster) (*Cluster, error) {
	if err := k.Create(ctx, c); err != nil {
		return nil, fmt.Errorf("creating the cluster %s: %w", c.Name, err)
	}
	return k.Cluster(c.Namespace, c.Name), nil
}

// Get reads the GaleraCluster.
func (c *Cluster) Get(ctx context.Context) (*v1alpha1.GaleraCluster, error) {
	out := &v1alpha1.GaleraCluster{}
	return out, c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, out)
}

// Change edits the spec, the labels or the annotations.
func (c *Cluster) Change(ctx context.Context, change func(*v1alpha1.GaleraCluster)) error {
	have, err := c.Get(ctx)
	if err != nil {
		return err
	}
	want := have.DeepCopy()
	change(want)
	return c.Kube.Patch(ctx, want, client.MergeFrom(have))
}

// Scale does what kubectl scale does.
func (c *Cluster) Scale(ctx context.Context, replicas int32) error {
	have, err := c.Get(ctx)
	if err != nil {
		return err
	}
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace},
		Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	return c.Kube.SubResource("scale").Update(ctx, have, client.WithSubResourceBody(s))
}

// LoseStatus empties a cluster's status, as a restore of the resource from a backup does.
func LoseStatus(ctx context.Context, c *Cluster) error {
	patch := []byte(`[{"op":"replace","path":"/status","value":{}}]`)
	have := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	return c.Kube.Status().Patch(ctx, have, client.RawPatch(types.JSONPatchType, patch))
}

// Delete deletes the GaleraCluster and waits until its pods are gone.
func (c *Cluster) Delete(ctx context.Context) error {
	have, err := c.Get(ctx)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.Kube.Delete(ctx, have, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	return c.Kube.Until(ctx, "deleting "+c.Name, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
		pods, err := c.Pods().List(ctx)
		return err == nil && len(pods) == 0, fmt.Sprintf("%d pods left", len(pods)), err
	})
}

// Condition returns one condition, nil when there is none yet.
func (c *Cluster) Condition(ctx context.Context, kind string) (*metav1.Condition, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return nil, err
	}
	return meta.FindStatusCondition(have.Status.Conditions, kind), nil
}

// WaitCondition waits until a condition, judged from the present spec, has the wanted status and,
// when one is named, the wanted reason.
func (c *Cluster) WaitCondition(ctx context.Context, kind string, status metav1.ConditionStatus, reason string,
	timeout time.Duration) error {
	what := fmt.Sprintf("%s: %s=%s %s", c.Name, kind, status, reason)
	return c.Kube.Until(ctx, what, timeout, func(ctx context.Context) (bool, string, error) {
		have, err := c.Get(ctx)
		if err != nil {
			return false, "", err
		}
		cond := meta.FindStatusCondition(have.Status.Conditions, kind)
		if cond == nil || cond.ObservedGeneration != have.Generation {
			return false, "not judged yet", nil
		}
		done := cond.Status == status && (reason == "" || cond.Reason == reason)
		return done, Summary(have), nil
	})
}

// WaitReady waits until the cluster is Ready.
func (c *Cluster) WaitReady(ctx context.Context, timeout time.Duration) error {
	return c.WaitCondition(ctx, v1alpha1.ConditionReady, metav1.ConditionTrue, "", timeout)
}

// Summary reports in one line how a cluster is.
func Summary(c *v1alpha1.GaleraCluster) string {
	out := fmt.Sprintf("%d of %d nodes Synced", c.Status.ReadyReplicas, c.Status.Replicas)
	if op := c.Status.Operation; op != nil {
		out += ", operation " + op.ID
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		cond := meta.FindStatusCondition(c.Status.Conditions, kind)
		if cond != nil && (kind == v1alpha1.ConditionReady || cond.Status == metav1.ConditionTrue) {
			out += fmt.Sprintf(", %s=%s %s: %s", kind, cond.Status, cond.Reason, cond.Message)
		}
	}
	return out
}

// PodNames returns the names of all nodes the spec asks for, in ordinal order.
func (c *Cluster) PodNames(ctx context.Context) ([]string, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range have.Spec.Replicas {
		out = append(out, fmt.Sprintf("%s-%d", c.Name, i))
	}
	return out, nil
}

// Pod reads one pod.
func (c *Cluster) Pod(ctx context.Context, name string) (*corev1.Pod, error) {
	p := &corev1.Pod{}
	return p, c.Kube.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, p)
}

// Primary returns the pod behind the Service NAME-primary, as the status names it.
func (c *Cluster) Primary(ctx context.Context) (string, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return "", err
	}
	if have.Status.Primary == "" {
		return "", fmt.Errorf("%s has no primary", c.Name)
	}
	return have.Status.Primary, nil
}

// Replica returns some pod that is not the primary.
func (c *Cluster) Replica(ctx context.Context) (string, error) {
	primary, err := c.Primary(ctx)
	if err != nil {
		return "", err
	}
	names, err := c.PodNames(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(names, func(n string) bool { return n != primary })
	if i < 0 {
		return "", fmt.Errorf("%s has only one node", c.Name)
	}
	return names[i], nil
}

// Member returns the status of one node, nil when there is none.
func (c *Cluster) Member(ctx context.Context, pod string) (*v1alpha1.MemberStatus, error) {
	have, err := c.Get(ctx)
	if err != nil {
		return nil, err
	}
	for i := range have.Status.Members {
		if have.Status.Members[i].Name == pod {
			return &have.Status.Members[i], nil
		}
	}
	return nil, nil
}

// Ready reports whether the cluster is Ready for the spec as it is now.
func Ready(c *v1alpha1.GaleraCluster) bool {
	cond := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	return cond != nil && cond.Status == metav1.ConditionTrue && cond.ObservedGeneration == c.Generation
}
