package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// primaryService reads NAME-primary; a stranger's Service of that name is none.
func (r Readers) primaryService(ctx context.Context, f *Facts) error {
	s := &corev1.Service{}
	name := resources.PrimaryServiceName(f.Cluster)
	err := r.Cached.Get(ctx, client.ObjectKey{Namespace: f.Cluster.Namespace, Name: name}, s)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", name, err)
	case metav1.IsControlledBy(s, f.Cluster):
		f.PrimaryService = s
	}
	return nil
}

// PrimaryPod is the pod that NAME-primary leads to. Where the Service names none, because it was deleted
// or changed, that is the pod with the label of the primary, else the recorded primary, else the first node.
func PrimaryPod(f Facts) string {
	if s := f.PrimaryService; s != nil {
		if name := s.Spec.Selector[appsv1.StatefulSetPodNameLabel]; name != "" {
			return name
		}
	}
	for i := range Size(f) {
		name := resources.PodName(f.Cluster, i)
		if p := f.Pods[name]; p != nil && p.Labels[v1alpha1.LabelRole] == v1alpha1.RolePrimary {
			return name
		}
	}
	if name := f.Cluster.Status.Primary; name != "" {
		return name
	}
	return resources.PodName(f.Cluster, 0)
}

// Roles returns where the Services of f's cluster lead. A replica serves while its pod is Ready.
func Roles(f Facts) resources.Roles {
	roles := resources.Roles{Primary: PrimaryPod(f)}
	for name, p := range f.Pods {
		roles.Replicas = roles.Replicas || name != roles.Primary && p.DeletionTimestamp == nil &&
			p.Labels[v1alpha1.LabelRole] == v1alpha1.RoleReplica && PodReady(p)
	}
	return roles
}

// Role is what NAME-primary makes of a pod.
func Role(f Facts, pod string) string {
	if pod == PrimaryPod(f) {
		return v1alpha1.RolePrimary
	}
	return v1alpha1.RoleReplica
}
