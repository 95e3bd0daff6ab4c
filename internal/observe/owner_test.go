package observe

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestPodsWithoutAnOwner: pods that a restore has created before their StatefulSet are the cluster's; what another
// controller has made never is, nor a pod without an owner next to the StatefulSet.
func TestPodsWithoutAnOwner(t *testing.T) {
	pod := func(name string, owner types.UID) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name,
			Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
		}
		return p
	}
	cached := fake.NewClientBuilder().WithObjects(pod("shop-0", ""), pod("shop-1", "sts"), pod("shop-2", "other"),
		pod("shop-backup-x", "")).Build()
	for name, tc := range map[string]struct {
		of   *appsv1.StatefulSet
		want []string
	}{
		"no StatefulSet yet": {nil, []string{"shop-0"}},
		"a StatefulSet":      {&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "sts"}}, []string{"shop-1"}},
	} {
		f := Facts{Cluster: &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}},
			StatefulSet: tc.of, Pods: map[string]*corev1.Pod{}}
		if err := (Readers{Cached: cached}).pods(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(f.Pods)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
