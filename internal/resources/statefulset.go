package resources

import (
	"crypto/sha256"
	"encoding/hex"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// StatefulSetState is what of a StatefulSet depends on more than the spec.
type StatefulSetState struct {
	// Replicas is the number of pods: nodes come and go one at a time.
	Replicas int32
	// Claim is the size new volumes are made with. The template of an existing StatefulSet cannot be
	// changed, so a volume that is to be larger is expanded when it is there.
	Claim resource.Quantity
	// ClaimAnnotations are those that new claims are made with: a template cannot be changed, either.
	ClaimAnnotations map[string]string
	// Leaving reports whether a pod is going which is no member any more.
	Leaving bool
}

// StatefulSet returns the cluster's pods and volumes.
//
// Pods are created in parallel, because the agents decide who starts when. An outdated one is
// replaced when the operator deletes it, and never by the StatefulSet itself (OnDelete), which
// knows nothing of quorum.
func StatefulSet(c *v1alpha1.GaleraCluster, opts Options, state StatefulSetState) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "StatefulSet"},
		ObjectMeta: ownedMeta(c, StatefulSetName(c)),
		Spec: appsv1.StatefulSetSpec{
			Replicas:             new(state.Replicas),
			ServiceName:          NodesServiceName(c),
			PodManagementPolicy:  appsv1.ParallelPodManagement,
			UpdateStrategy:       appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			RevisionHistoryLimit: new(int32(3)),
			Selector:             &metav1.LabelSelector{MatchLabels: Selector(c)},
			Template:             podTemplate(c, opts),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{dataClaim(c, state.Claim,
				state.ClaimAnnotations)},
			PersistentVolumeClaimRetentionPolicy: claimRetention(c, state.Leaving),
		},
	}
}

// PodTemplateHash is a hash of the pods' template without the image the agent is taken from: agents are replaced in
// place.
func PodTemplateHash(c *v1alpha1.GaleraCluster, opts Options) string {
	opts.OperatorImage = ""
	t := corev1.PodTemplateSpec{Spec: podSpec(c, opts)}
	t.Labels, t.Annotations = podMeta(c)
	sum := sha256.Sum256(mustJSON(t))
	return hex.EncodeToString(sum[:8])
}

func podTemplate(c *v1alpha1.GaleraCluster, opts Options) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{Spec: podSpec(c, opts)}
	t.Labels, t.Annotations = podMeta(c)
	t.Annotations[v1alpha1.AnnotationPodTemplate] = PodTemplateHash(c, opts)
	return t
}

// dataClaim cannot be changed once the StatefulSet exists.
func dataClaim(c *v1alpha1.GaleraCluster, size resource.Quantity,
	annotations map[string]string) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: DataVolume, Labels: Labels(c), Annotations: annotations},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: c.Spec.Storage.StorageClassName,
			VolumeMode:       new(corev1.PersistentVolumeFilesystem),
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: size},
			},
		},
	}
}

// Claim is the claim of a node's volume as the StatefulSet makes it, for a volume that is filled before there is a pod.
func Claim(c *v1alpha1.GaleraCluster, ordinal int) *corev1.PersistentVolumeClaim {
	claim := dataClaim(c, c.Spec.Storage.Size, NotPruned())
	claim.Name, claim.Namespace = ClaimName(c, ordinal), c.Namespace
	return &claim
}

// claimRetention keeps volumes of nodes removed by scaling down: a node that comes back with its data
// joins by IST. If they are to be deleted, the policy is set only while the pod of a former member is
// being removed: a hibernated cluster has no pods either, and scaling the StatefulSet manually must not
// delete data.
func claimRetention(c *v1alpha1.GaleraCluster, leaving bool) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	policy := &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	if leaving && c.Spec.Storage.PersistentVolumeClaimRetentionPolicy.WhenScaled == v1alpha1.ClaimDelete {
		policy.WhenScaled = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	if !retains(c) {
		policy.WhenDeleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return policy
}
