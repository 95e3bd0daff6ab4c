package observe

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestHosts: the planner hears which pods are on a host that may be about to be drained.
func TestHosts(t *testing.T) {
	host := func(name string, cordoned bool) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	on := func(host string) *corev1.Pod { return &corev1.Pod{Spec: corev1.PodSpec{NodeName: host}} }
	f := Facts{Cluster: &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1alpha1.GaleraClusterSpec{Replicas: 4}},
		Pods: map[string]*corev1.Pod{"shop-0": on("a"), "shop-1": on("b"), "shop-2": on("gone"), "shop-3": on("")}}
	r := Readers{Cached: fake.NewClientBuilder().WithObjects(host("a", true), host("b", false)).Build()}
	if err := r.hosts(t.Context(), &f); err != nil {
		t.Fatal(err)
	}
	for _, m := range Snapshot(f, nil, agentapi.NodeConfig{}, time.Now()).Members {
		if m.Pod.Cordoned != (m.Name == "shop-0") {
			t.Errorf("%s: %t", m.Name, m.Pod.Cordoned)
		}
	}
}
