package resources

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// PodDisruptionBudget returns the budget for drains: one node, or the arbitrator, at a time, whatever the
// number of nodes. More would keep quorum in a cluster of five, but two nodes that left together also come
// back together and cost two donors; and a cluster of one can still be drained.
//
// Pods that run but are not ready count against the budget (IfHealthyBudget). A donor is such a
// pod, and so is a joiner: evicting both, as AlwaysAllow would, interrupts the transfer and leaves a
// cluster of three with a single node. The price is that a drain waits for a cluster that is
// completely broken, until it is repaired; that protects its data.
func PodDisruptionBudget(c *v1alpha1.GaleraCluster) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: ownedMeta(c, podDisruptionBudgetName(c)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             new(intstr.FromInt32(1)),
			UnhealthyPodEvictionPolicy: new(policyv1.IfHealthyBudget),
			Selector:                   voters(c),
		},
	}
}
