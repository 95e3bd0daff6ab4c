package observe

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestVolumeSize: the spec can be set back this far, so every volume has it, or has been asked for it.
func TestVolumeSize(t *testing.T) {
	has := func(capacity, request string) *corev1.PersistentVolumeClaim {
		p := &corev1.PersistentVolumeClaim{}
		p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(request)}
		p.Status.Phase, p.Status.Capacity = corev1.ClaimBound, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(capacity)}
		return p
	}
	pending := has("1Gi", "1Gi")
	pending.Status.Phase = corev1.ClaimPending
	for name, tc := range map[string]struct {
		claims []*corev1.PersistentVolumeClaim
		want   string
	}{
		"as made":                          {[]*corev1.PersistentVolumeClaim{has("1Gi", "1Gi"), has("1Gi", "1Gi")}, "1Gi"},
		"asked to grow":                    {[]*corev1.PersistentVolumeClaim{has("1Gi", "2Gi"), has("1Gi", "2Gi")}, "2Gi"},
		"one cannot grow":                  {[]*corev1.PersistentVolumeClaim{has("2Gi", "2Gi"), has("1Gi", "1Gi")}, "1Gi"},
		"bound to more than was asked for": {[]*corev1.PersistentVolumeClaim{has("5Gi", "1Gi"), has("5Gi", "1Gi")}, "1Gi"},
		"of a member that has left":        {[]*corev1.PersistentVolumeClaim{has("2Gi", "2Gi"), has("2Gi", "2Gi"), has("1Gi", "1Gi")}, "2Gi"},
		"one is missing":                   {[]*corev1.PersistentVolumeClaim{has("1Gi", "1Gi")}, "<nil>"},
		"one is not there yet":             {[]*corev1.PersistentVolumeClaim{has("1Gi", "1Gi"), pending}, "<nil>"},
		"none":                             {nil, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Claims: map[string]*corev1.PersistentVolumeClaim{}}
			f.Cluster.Name, f.Cluster.Status.Replicas = "shop", 2
			for i, p := range tc.claims {
				f.Claims[fmt.Sprintf("data-shop-%d", i)] = p
			}
			if got := VolumeSize(f).String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
