package clusterref

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestTurns: users and databases are woken by what may end their wait for a cluster, and not by each change of its
// status.
func TestTurns(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraCluster)
		wakes  bool
	}{
		"a message": {func(c *v1alpha1.GaleraCluster) { c.Status.Members = make([]v1alpha1.MemberStatus, 1) },
			false},
		"the spec":        {func(c *v1alpha1.GaleraCluster) { c.Generation++ }, true},
		"another primary": {func(c *v1alpha1.GaleraCluster) { c.Status.Primary = "shop-1" }, true},
		"a pause": {func(
			c *v1alpha1.GaleraCluster) {
			c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
		}, true},
		"an operation":       {func(c *v1alpha1.GaleraCluster) { c.Status.Operation = &v1alpha1.OperationStatus{} }, true},
		"another history":    {func(c *v1alpha1.GaleraCluster) { c.Status.ClusterUUID = "b" }, true},
		"no writes any more": {func(c *v1alpha1.GaleraCluster) { c.Status.Conditions = nil }, true},
	} {
		c := &v1alpha1.GaleraCluster{Status: v1alpha1.GaleraClusterStatus{ClusterUUID: "a", Primary: "shop-0"}}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
			Status: metav1.ConditionTrue, Reason: "x"})
		after := c.DeepCopy()
		tc.change(after)
		for _, e := range []event.UpdateEvent{{ObjectOld: c, ObjectNew: after}, {ObjectOld: after, ObjectNew: c}} {
			if MayEndWait.Update(e) != tc.wakes {
				t.Errorf("%s: wakes %t, want %t", name, !tc.wakes, tc.wakes)
			}
		}
	}
}
