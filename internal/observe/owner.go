package observe

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ownedBy matches owner references to the StatefulSet; nothing is owned by none.
func ownedBy(sts *appsv1.StatefulSet) func(metav1.OwnerReference) bool {
	return func(r metav1.OwnerReference) bool { return sts != nil && r.UID == sts.UID }
}
