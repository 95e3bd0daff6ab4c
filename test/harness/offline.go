package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Offline keeps a pod from coming back while something is done to its volume: its node takes no
// new pods meanwhile. The other pods of the cluster go on.
func (c *Cluster) Offline(ctx context.Context, pod string, do func(Volume) error) (err error) {
	v, err := c.Volume(ctx, pod)
	if err != nil {
		return err
	}
	if err := c.Kube.Cordon(ctx, v.Node, true); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Kube.Cordon(context.WithoutCancel(ctx), v.Node, false)) }()
	if _, err := c.DeletePod(ctx, pod); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := c.waitOffline(ctx, pod); err != nil {
		return err
	}
	return do(v)
}

// waitOffline waits until the pod that ran is gone and its successor has no node.
func (c *Cluster) waitOffline(ctx context.Context, pod string) error {
	return c.Kube.Until(ctx, pod+" is off its volume", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		p, err := c.Pod(ctx, pod)
		if apierrors.IsNotFound(err) {
			return false, "gone", nil
		}
		if err != nil {
			return false, "", err
		}
		off := p.DeletionTimestamp == nil && p.Spec.NodeName == "" && p.Status.Phase == corev1.PodPending
		return off, fmt.Sprintf("%s on %q", p.Status.Phase, p.Spec.NodeName), nil
	})
}
