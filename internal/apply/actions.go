package apply

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// orderTime is the time limit for an agent to write an order to its volume and answer.
const orderTime = 5 * time.Second

// Actor carries out the actions that reach beyond the status.
type Actor struct {
	Client client.Client
	Agents *observe.Agents
}

// Do carries out one action for the cluster described by f.
func (x Actor) Do(ctx context.Context, f observe.Facts, a plan.Action) error {
	switch a := a.(type) {
	case plan.SendOrder:
		return x.sendOrder(ctx, f, a)
	case plan.AssignRoles:
		return x.assignRoles(ctx, f, a.Primary)
	case plan.DeletePod:
		return x.deletePod(ctx, f, a.Member)
	default:
		return fmt.Errorf("no way to carry out %T", a)
	}
}

// sendOrder is done when the agent has the order on its volume. A refusal is no error: the
// planner sees it in the agent's next report.
func (x Actor) sendOrder(ctx context.Context, f observe.Facts, a plan.SendOrder) error {
	target, ok := x.Agents.Target(client.ObjectKeyFromObject(f.Cluster), a.Member)
	if !ok {
		return nil // the pod went away; its return is an event
	}
	ctx, cancel := context.WithTimeout(ctx, orderTime)
	defer cancel()
	_, err := x.Agents.Client.Order(ctx, target, agentapi.Order{
		ID: a.ID, Epoch: a.Epoch, Kind: agentapi.OrderKind(a.Kind), Position: a.Position,
		ClusterUUID: f.Cluster.Status.ClusterUUID, GivenUp: a.GivenUp,
	})
	return err
}

// Sync makes kubelet refresh the pod's mounted configuration and certificates at once, by
// changing an annotation; without it that takes up to a minute or two.
func (x Actor) Sync(ctx context.Context, p *corev1.Pod, version string) error {
	if p.Annotations[v1alpha1.AnnotationSync] == version {
		return nil
	}
	return x.patch(ctx, p, func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[v1alpha1.AnnotationSync] = version
	})
}

// patch changes metadata of exactly the pod that was seen, not of a successor of its name.
func (x Actor) patch(ctx context.Context, p *corev1.Pod, change func(*corev1.Pod)) error {
	changed := p.DeepCopy()
	change(changed)
	err := x.Client.Patch(ctx, changed, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// deletePod deletes exactly the pod that was seen.
func (x Actor) deletePod(ctx context.Context, f observe.Facts, name string) error {
	p := f.Pods[name]
	if p == nil || p.DeletionTimestamp != nil {
		return nil
	}
	uid := p.UID
	err := x.Client.Delete(ctx, p, client.Preconditions{UID: &uid})
	return client.IgnoreNotFound(err)
}
