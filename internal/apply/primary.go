package apply

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// assignRoles moves NAME-primary by one write, in the version of the Service that was seen: a cache that is behind
// ends the attempt, and there is never a second writer, nor a moment without one. The labels, which only report,
// follow.
func (x Actor) assignRoles(ctx context.Context, f observe.Facts, primary string) error {
	if f.Pods[primary] == nil {
		return nil // its return is an event
	}
	if f.PrimaryService != nil {
		service := resources.PrimaryService(f.Cluster, primary)
		service.ResourceVersion = f.PrimaryService.ResourceVersion
		u, err := ownership.Desired(service)
		if err != nil {
			return err
		}
		if err := x.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(ownership.FieldOwner),
			client.ForceOwnership); err != nil {
			return fmt.Errorf("moving %s to %s: %w", service.Name, primary, err)
		}
	}
	return x.label(ctx, f, primary)
}

// LabelRoles makes the labels of the pods follow the Service: a pod that was made anew has none.
func (x Actor) LabelRoles(ctx context.Context, f observe.Facts) error {
	return x.label(ctx, f, observe.PrimaryPod(f))
}

func (x Actor) label(ctx context.Context, f observe.Facts, primary string) error {
	var errs []error
	for i := range observe.Size(f) {
		name, role := resources.PodName(f.Cluster, i), v1alpha1.RoleReplica
		if name == primary {
			role = v1alpha1.RolePrimary
		}
		if seen := f.Pods[name]; seen == nil || seen.Labels[v1alpha1.LabelRole] == role {
			continue
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Cluster.Namespace, Name: name}}
		change := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1alpha1.LabelRole, role)
		errs = append(errs, client.IgnoreNotFound(x.Client.Patch(ctx, p, client.RawPatch(types.MergePatchType, change))))
	}
	return errors.Join(errs...)
}
