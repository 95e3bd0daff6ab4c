package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/internal/resources"
)

// awaitsOwner reports whether the StatefulSet that is to come will adopt the pod: a restore of a namespace creates pods
// before it, and without an owner. Their servers run, and what they are has to be known before anything is published.
func awaitsOwner(p *corev1.Pod, f Facts) bool {
	_, named := ordinal(p.Name, resources.PodName(f.Cluster, 0))
	return f.StatefulSet == nil && named && metav1.GetControllerOf(p) == nil
}

// ownedBy matches owner references to the StatefulSet; nothing is owned by none.
func ownedBy(sts *appsv1.StatefulSet) func(metav1.OwnerReference) bool {
	return func(r metav1.OwnerReference) bool { return sts != nil && r.UID == sts.UID }
}
