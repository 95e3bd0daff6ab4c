package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// claims lists the cluster's claims on volumes.
func (r Readers) claims(ctx context.Context, f *Facts) error {
	var list corev1.PersistentVolumeClaimList
	err := r.Cached.List(ctx, &list, client.InNamespace(f.Cluster.Namespace),
		client.MatchingLabels{v1alpha1.LabelCluster: f.Cluster.Name})
	if err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		f.Claims[p.Name] = p
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

// orAnotherClass is the advice for a cluster that has no volume yet; "" for any other: its claims may hold data.
func orAnotherClass(f Facts) string {
	for _, p := range f.Claims {
		if p.Spec.VolumeName != "" || p.Status.Phase != corev1.ClaimPending {
			return ""
		}
	}
	if f.Cluster.Status.ClusterUUID != "" {
		return ""
	}
	return fmt.Sprintf(
		". Or delete this cluster, and its claims, which are not bound and hold no data; then create it again with an "+
			"existing class: "+
			"kubectl delete pvc -l %s=%s -n %s --wait=false", v1alpha1.LabelCluster, f.Cluster.Name, f.Cluster.Namespace)
}

// leftover describes a claim that waits for a StorageClass that does not exist, and is not the spec's: it is of an
// earlier cluster of this name. It returns "" when there is none.
func (r Readers) leftover(ctx context.Context, f Facts) (string, error) {
	for i := range Size(f) {
		p := f.Claims[resources.ClaimName(f.Cluster, i)]
		if p == nil || p.Status.Phase == corev1.ClaimBound || p.Spec.VolumeName != "" || p.Spec.StorageClassName == nil ||
			*p.Spec.StorageClassName == "" {
			continue
		}
		class, want := *p.Spec.StorageClassName, f.Cluster.Spec.Storage.StorageClassName
		if want != nil && *want == class {
			continue
		}
		err := r.Live.Get(ctx, client.ObjectKey{Name: class}, &storagev1.StorageClass{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Sprintf(
				"the claim %s asks for the StorageClass %q, which does not exist. It is left from an earlier cluster of this "+
					"name, and was never "+
					"bound, so it holds no data. To have it made again with the class of spec.storage, run: %s",
				p.Name, class, galera.EmptyVolume(resources.PodName(f.Cluster, i), f.Cluster.Namespace)), nil
		case err != nil:
			return "", err
		}
	}
	return "", nil
}

// Small returns the members' claims that ask for less than the spec, in ordinal order.
func Small(f Facts) []*corev1.PersistentVolumeClaim {
	return slices.DeleteFunc(bound(f), func(p *corev1.PersistentVolumeClaim) bool {
		return p.Spec.Resources.Requests.Storage().Cmp(f.Cluster.Spec.Storage.Size) >= 0
	})
}

// Expanding returns the members' claims whose volume is not as large as they ask for yet.
func Expanding(f Facts) []*corev1.PersistentVolumeClaim {
	return slices.DeleteFunc(bound(f), func(p *corev1.PersistentVolumeClaim) bool {
		return p.Status.Capacity.Storage().Cmp(*p.Spec.Resources.Requests.Storage()) >= 0
	})
}

// VolumeSize is the least that a member's claim asks for, nil while not all are bound. What is asked for counts, and
// not what is there: a request that was raised is never lowered, and a volume may be larger than it was asked to be.
func VolumeSize(f Facts) *resource.Quantity {
	claims := bound(f)
	if len(claims) < Size(f) {
		return nil
	}
	var least *resource.Quantity
	for _, p := range claims {
		if q := p.Spec.Resources.Requests.Storage(); least == nil || q.Cmp(*least) < 0 {
			least = q
		}
	}
	return least
}

// bound returns the members' claims that have a volume, in ordinal order. Only they can be expanded.
func bound(f Facts) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range Size(f) {
		if p := f.Claims[resources.ClaimName(f.Cluster, i)]; p != nil && p.Status.Phase == corev1.ClaimBound {
			out = append(out, p)
		}
	}
	return out
}
