package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Expand requests a larger volume. The node keeps running: Kubernetes expands the volume and its file
// system. It returns the changed claim.
func (x Actor) Expand(ctx context.Context, p *corev1.PersistentVolumeClaim, size resource.Quantity) (
	*corev1.PersistentVolumeClaim, error) {
	changed := p.DeepCopy()
	changed.Spec.Resources.Requests[corev1.ResourceStorage] = size
	return changed, client.IgnoreNotFound(x.Client.Patch(ctx, changed, client.MergeFrom(p)))
}
