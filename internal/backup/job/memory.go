package job

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// MemoryField names the field that sets how much memory a container of a Job has, and its object: of is "limits" or
// "requests". It is "" where no field does.
func MemoryField(j *batchv1.Job, container, of string) string {
	field := "resources." + of + ".memory"
	_, stored := j.Annotations[v1alpha1.AnnotationStoreLocation]
	switch cluster := j.Labels[v1alpha1.LabelCluster]; {
	case container == ContainerFetch, container == ContainerOpen, stored && !ofImage(j):
		return "spec.pods." + field + " of the GaleraBackupStore"
	case !ofImage(j):
		return "spec.from.external." + field + " of the GaleraRestore"
	case ofCheckBefore(j, cluster):
		return ""
	default:
		return fmt.Sprintf("spec.%s of the GaleraCluster %s", field, cluster)
	}
}

// ofCheckBefore reports whether it is Recheck: the nodes, which run, have the memory of their spec.
func ofCheckBefore(j *batchv1.Job, cluster string) bool {
	owner := metav1.GetControllerOf(j)
	return owner != nil && owner.Kind == "GaleraCluster" && strings.HasPrefix(j.Name, cluster+reseed)
}

// ofImage reports whether a Job's container has the cluster's image, and the memory of its nodes: another one puts the
// program there.
func ofImage(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Spec.Template.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == ContainerInstall || c.Name == ContainerOpen
	})
}
