package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func TestSize(t *testing.T) {
	for name, tc := range map[string]struct {
		recorded, spec, set int32
		claims              []string
		want                int
	}{
		"new":                          {spec: 3, want: 3},
		"recorded":                     {recorded: 5, spec: 3, set: 3, claims: []string{"data-shop-6"}, want: 5},
		"lost, lowered meanwhile":      {spec: 1, set: 3, want: 3},
		"lost while hibernated":        {spec: 1, claims: []string{"data-shop-0", "data-shop-2"}, want: 3},
		"kept from an earlier cluster": {spec: 3, claims: []string{"data-shop-4"}, want: 5},
		"claims of something else": {spec: 3, claims: []string{"data-shop-x", "data-shop-04", "data-shop--1",
			"backup-shop-5"}, want: 3},
		"more than a cluster can consist": {spec: 3, claims: []string{"data-shop-11"}, want: 7},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Claims: map[string]*corev1.PersistentVolumeClaim{}}
			f.Cluster.Name, f.Cluster.Spec.Replicas, f.Cluster.Status.Replicas = "shop", tc.spec, tc.recorded
			if tc.set > 0 {
				f.StatefulSet = &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: &tc.set}}
			}
			for _, c := range tc.claims {
				f.Claims[c] = &corev1.PersistentVolumeClaim{}
			}
			if got := Size(f); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
