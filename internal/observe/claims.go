package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// claims lists the cluster's claims on volumes, and looks at their classes when one is to grow.
func (r Readers) claims(ctx context.Context, f *Facts) error {
	var list corev1.PersistentVolumeClaimList
	err := r.Cached.List(ctx, &list, client.InNamespace(f.Cluster.Namespace), client.MatchingLabels{v1alpha1.LabelCluster: f.Cluster.Name})
	if err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		f.Claims[p.Name] = p
	}
	for _, p := range Small(*f) {
		ok, err := r.expandable(ctx, p)
		if err != nil {
			return err
		}
		f.Rigid[p.Name] = !ok
	}
	return nil
}

// expandable asks the claim's class.
func (r Readers) expandable(ctx context.Context, p *corev1.PersistentVolumeClaim) (bool, error) {
	if p.Spec.StorageClassName == nil || *p.Spec.StorageClassName == "" {
		return false, nil
	}
	class := &storagev1.StorageClass{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: *p.Spec.StorageClassName}, class)
	return err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion, client.IgnoreNotFound(err)
}

// Small returns the members' claims that ask for less than the spec, in ordinal order. Only what is bound
// can be expanded.
func Small(f Facts) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range Size(f) {
		p := f.Claims[resources.ClaimName(f.Cluster, i)]
		if p == nil || p.Status.Phase != corev1.ClaimBound {
			continue
		}
		if have := p.Spec.Resources.Requests[corev1.ResourceStorage]; have.Cmp(f.Cluster.Spec.Storage.Size) < 0 {
			out = append(out, p)
		}
	}
	return out
}

// Expanding returns the members' claims whose volume is not as large as they ask for yet.
func Expanding(f Facts) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range Size(f) {
		p := f.Claims[resources.ClaimName(f.Cluster, i)]
		if p == nil || p.Status.Phase != corev1.ClaimBound {
			continue
		}
		have, asked := p.Status.Capacity[corev1.ResourceStorage], p.Spec.Resources.Requests[corev1.ResourceStorage]
		if have.Cmp(asked) < 0 {
			out = append(out, p)
		}
	}
	return out
}
