package resources

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// affinity prefers a host without another node of the cluster, unless the user says otherwise.
// It is a preference: on fewer hosts than nodes, a cluster that runs beats one that is pending.
func affinity(c *v1alpha1.GaleraCluster) *corev1.Affinity {
	if c.Spec.Scheduling.Affinity != nil {
		return c.Spec.Scheduling.Affinity.DeepCopy()
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: Selector(c)},
			},
		}},
	}}
}

// topologySpread spreads nodes over zones, where hosts have any, unless the user has said where
// nodes may run. Hosts are left to the affinity: the scheduler passes over a host that lacks one
// constraint's label for all of them, so on hosts without zones two constraints do nothing.
func topologySpread(c *v1alpha1.GaleraCluster) []corev1.TopologySpreadConstraint {
	scheduling := c.Spec.Scheduling.DeepCopy()
	if len(scheduling.TopologySpreadConstraints) > 0 {
		return selectMembers(c, scheduling.TopologySpreadConstraints)
	}
	if scheduling.Affinity != nil {
		return nil
	}
	return selectMembers(c, []corev1.TopologySpreadConstraint{{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
	}})
}

// selectMembers lets constraints without a selector count the cluster's nodes. To Kubernetes such a
// constraint counts no pod at all, which is never what is meant.
func selectMembers(c *v1alpha1.GaleraCluster,
	constraints []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	for i := range constraints {
		if constraints[i].LabelSelector == nil {
			constraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: Selector(c)}
		}
	}
	return constraints
}
